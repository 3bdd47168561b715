import { createServer as createHttpServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net';
import { afterAll } from 'vitest';

const servers: Record<'echo' | 'web', Server> = {
  echo: createTcpServer({ allowHalfOpen: true }, (socket) => socket.on('error', () => undefined).pipe(socket)),
  web: createHttpServer((request, response) => response.end(`you asked for ${request.url}`)),
};

/**
 * What a stack's demo cluster may lead to: an echo, and a web server that says what it was asked for. To be called at the top of a
 * test file; what it returns lets them listen and resolves with the stack's `demoTargets`.
 */
export function doorTargets(): () => Promise<string[]> {
  afterAll(() => {
    for (const server of Object.values(servers)) server.close();
  });
  return () => Promise.all(Object.values(servers).map(listening));
}

/** `host:port` of one of them, once they listen. */
export const targetOf = (name: 'echo' | 'web'): string => addressOf(servers[name]);

/** Lets a server listen on a free port; resolves with its `host:port`. */
export async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return addressOf(server);
}

const addressOf = (server: Server): string => `127.0.0.1:${(server.address() as AddressInfo).port}`;
