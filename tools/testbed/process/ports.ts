import { randomInt } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestbedError } from '../errors.js';
import { isAlive } from './is-alive.js';

// Below the usual ephemeral ranges (Linux 32768+, macOS 49152+): a port that is free now is then not taken by somebody's
// outgoing connection while a killed server is away, so `restart()` finds it free again.
const LOWEST = 15_000;
const HIGHEST = 32_000;
const given = new Set<number>();

/** A file for each port that a process of this user was given, with its id. */
const RESERVED = join(tmpdir(), `fairlead-ports-${process.getuid?.() ?? 'all'}`);

/**
 * A TCP port of 127.0.0.1 that nobody listens on, and that neither this process nor another one that lives was given before: between
 * asking and listening pass seconds, in which several installations choose dozens of them.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = randomInt(LOWEST, HIGHEST);
    if (given.has(port)) continue;
    // Before anything is awaited: who else asks meanwhile, in this process, may draw the same one.
    given.add(port);
    if ((await isFree(port)) && (await reserve(port))) return port;
    given.delete(port);
  }
  throw new TestbedError(`no free TCP port found between ${LOWEST} and ${HIGHEST} on 127.0.0.1`);
}

/** False while another process holds it. */
async function reserve(port: number): Promise<boolean> {
  const path = join(RESERVED, `${port}`);
  await mkdir(RESERVED, { recursive: true });
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      await writeFile(path, `${process.pid}`, { flag: 'wx' });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      if (await isHeld(path)) return false;
      await rm(path, { force: true });
    }
  }
  return false;
}

async function isHeld(path: string): Promise<boolean> {
  const pid = Number(await readFile(path, 'utf8').catch(() => '0'));
  // It is being written at this moment.
  if (!Number.isInteger(pid) || pid <= 0) return true;
  return pid !== process.pid && isAlive(pid);
}

/** Whether a server could listen on the port of 127.0.0.1 now. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
