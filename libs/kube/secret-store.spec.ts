import { mkdtempSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testAuthority } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSecretStore, type SecretStore } from './in-cluster.js';

let server: Server;
let directory: string;
let answer: (request: IncomingMessage, response: ServerResponse) => void;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'fairlead-secret-store-'));
  const authority = await testAuthority();
  writeFileSync(join(directory, 'ca.crt'), authority.roots.join(''));
  const { privateKeyPem: key, chainPem: cert } = await authority.serving(['127.0.0.1']);
  server = createServer({ key, cert }, (request, response) => {
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function store(deadlineMs = 20_000): SecretStore {
  const { port } = server.address() as AddressInfo;
  const where = { host: '127.0.0.1', port, serviceAccountDir: directory, namespace: 'ns', name: 'identity' };
  return createSecretStore({ ...where, deadlineMs });
}

describe('createSecretStore', () => {
  it('reads the token file again for each request', async () => {
    const seen: (string | undefined)[] = [];
    answer = (request, response) => {
      seen.push(request.headers.authorization);
      response.end('{"metadata":{"resourceVersion":"7"}}');
    };
    writeFileSync(join(directory, 'token'), 'first\n');
    expect(await store().read()).toEqual({ values: {}, version: '7' });
    writeFileSync(join(directory, 'token'), 'second\n');
    await store().read();
    expect(seen).toEqual(['Bearer first', 'Bearer second']);
  });

  it('gives up at its deadline', async () => {
    answer = () => {};
    await expect(store(100).read()).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  });

  it('refuses an answer without end', async () => {
    answer = (_request, response) => {
      response.on('error', () => {});
      const pump = (): void => {
        if (!response.destroyed) response.write(Buffer.alloc(2 ** 20), pump);
      };
      pump();
    };
    await expect(store().read()).rejects.toMatchObject({ code: 'TOO_LARGE' });
  });

  it.each([
    [403, 'FORBIDDEN'],
    [404, 'NOT_FOUND'],
    [503, 'UNAVAILABLE'],
  ])('takes status %i for %s, with the reason of the server', async (status, code) => {
    answer = (_request, response) => response.writeHead(status).end('{"kind":"Status","message":"because"}');
    await expect(store().read()).rejects.toMatchObject({ code, message: 'reading Secret ns/identity: because' });
  });

  it('says that nobody is there', async () => {
    const where = { host: '127.0.0.1', port: 1, serviceAccountDir: directory, namespace: 'ns', name: 'identity' };
    await expect(createSecretStore(where).read()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});
