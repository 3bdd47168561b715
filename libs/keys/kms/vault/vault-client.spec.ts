import { chmod, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { scratchDir, testAuthority, type ScratchDir } from '@fairlead/testing';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { VaultClient, type VaultClientOptions } from './vault-client.js';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

let scratch: ScratchDir;
let server: Server;
let caPem: string;
let tokenFile: string;
let client: VaultClient;
/** What the next requests get; the last one for all that follow. */
let script: Answer[];
let seen: IncomingMessage[];

beforeAll(async () => {
  scratch = await scratchDir();
  tokenFile = scratch.file('token');
  const authority = await testAuthority();
  caPem = authority.root.certificatePem;
  const { privateKeyPem, chainPem } = await authority.serving(['127.0.0.1']);
  server = createServer({ key: privateKeyPem, cert: chainPem }, (request, response) => {
    seen.push(request);
    const answer = script.length > 1 ? script.shift() : script[0];
    answer?.(request, response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await scratch[Symbol.asyncDispose]();
});
beforeEach(async () => {
  seen = [];
  await writeFile(tokenFile, 'first\n', { mode: 0o600 });
  client = make();
});
afterEach(() => client[Symbol.asyncDispose]());

function make(overrides: Partial<VaultClientOptions> = {}): VaultClient {
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return new VaultClient({ url, tokenFile, caPem, deadlineMs: 20_000, ...overrides });
}

const json =
  (status: number, body: unknown): Answer =>
  (_request, response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
const breakOff: Answer = (request) => void request.socket.destroy();

it('tries again after what passes, within its deadline', async () => {
  script = [breakOff, json(503, { errors: ['Vault is sealed'] }), json(429, {}), json(200, { data: { ok: 1 } })];
  await expect(client.request('POST', '/v1/transit/encrypt/k', { a: 1 })).resolves.toMatchObject({ data: { ok: 1 } });
  expect(seen).toHaveLength(4);
  script = [json(503, { errors: ['Vault is sealed'] })];
  // Long enough for a first answer on a busy machine.
  await using hasty = make({ deadlineMs: 3_000 });
  await expect(hasty.request('GET', '/v1/x')).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining('503 Vault is sealed'),
  });
});

it('waits for no answer longer than its deadline', async () => {
  script = [() => undefined];
  await using hasty = make({ deadlineMs: 300 });
  const began = performance.now();
  await expect(hasty.request('GET', '/v1/x')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(performance.now() - began).toBeLessThan(2_000);
});

it('reads the token for each request, from a file that nobody else can read, and says when it is refused', async () => {
  script = [json(200, { data: {} })];
  await client.request('GET', '/v1/x');
  await writeFile(tokenFile, 'second');
  await client.request('GET', '/v1/x');
  expect(seen.map(({ headers }) => headers['x-vault-token'])).toEqual(['first', 'second']);
  script = [json(403, { errors: ['permission denied'] })];
  await expect(client.request('GET', '/v1/x')).rejects.toThrow(/403 permission denied/);
  // It would be refused again.
  expect(seen).toHaveLength(3);
  await chmod(tokenFile, 0o644);
  await expect(client.request('GET', '/v1/x')).rejects.toThrow(/chmod 600/);
  await chmod(tokenFile, 0o600);
  await writeFile(tokenFile, 'two\nlines');
  await expect(client.request('GET', '/v1/x')).rejects.toThrow(/does not hold a token/);
  expect(seen).toHaveLength(3);
});

it('talks to nobody whose certificate is another authority, and takes no endless answer', async () => {
  script = [json(200, { data: {} })];
  await using foreign = make({ caPem: (await testAuthority()).root.certificatePem, deadlineMs: 300 });
  await expect(foreign.request('GET', '/v1/x')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(seen).toEqual([]);
  script = [json(200, { data: 'x'.repeat(100_000) })];
  await using hasty = make({ deadlineMs: 300 });
  await expect(hasty.request('GET', '/v1/x')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});
