import { createServer } from 'node:net';
import { randomInt } from 'node:crypto';
import { TestbedError } from '../errors.js';

// Below the usual ephemeral ranges (Linux 32768+, macOS 49152+): a port that is free now is then not taken by somebody's
// outgoing connection while a killed server is away, so `restart()` finds it free again.
const LOWEST = 15_000;
const HIGHEST = 32_000;
const given = new Set<number>();

/** A TCP port of 127.0.0.1 that nobody listens on and that this process was not given before. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = randomInt(LOWEST, HIGHEST);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
  throw new TestbedError(`no free TCP port found between ${LOWEST} and ${HIGHEST} on 127.0.0.1`);
}

/** Whether a server could listen on the port of 127.0.0.1 now. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
