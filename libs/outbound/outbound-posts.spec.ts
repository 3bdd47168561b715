import { once } from 'node:events';
import { createServer as createPlain, type RequestListener, type Server } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { testAuthority } from '@fairlead/testing';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { AddressRanges } from './address-ranges.js';
import { OutboundPosts, type OutboundPostsOptions, type Posted } from './outbound-posts.js';

const HOST = 'hooks.example.test';
const running: Server[] = [];
let ca: string;
let serving: { key: string; cert: string };

beforeAll(async () => {
  const authority = await testAuthority();
  const { privateKeyPem: key, chainPem: cert } = await authority.serving([HOST, '127.0.0.1']);
  serving = { key, cert };
  ca = authority.root.certificatePem;
});
afterEach(async () => {
  for (const server of running.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
});

async function listen(server: Server, host: string, port = 0): Promise<number> {
  running.push(server);
  server.listen(port, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
const serve = (answer: RequestListener, host = '127.0.0.1', port = 0) =>
  listen(createServer(serving, answer), host, port);

function posts(ranges: string, more: Partial<OutboundPostsOptions> & { plaintext?: boolean } = {}): OutboundPosts {
  const { plaintext = false, ...options } = more;
  const rules = { allowed: AddressRanges.parse(ranges), plaintext, what: 'the URL' };
  return new OutboundPosts({ rules, ca, ...options });
}
const post = (via: OutboundPosts, url: string, timeoutMs = 30_000): Promise<Posted> =>
  via.post(url, { headers: {}, body: Buffer.from('{}'), timeoutMs, signal: new AbortController().signal });

it('posts to the public internet and to what is allowed besides, and to nothing else', async () => {
  let asked = 0;
  const port = await serve((_request, response) => {
    asked += 1;
    response.writeHead(204).end();
  });
  for (const host of [
    'localhost',
    '127.0.0.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '127.1',
    '0x7f000001',
    '169.254.169.254',
  ]) {
    await expect(post(posts(''), `https://${host}:${port}/`)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  }
  expect(asked).toBe(0);
  expect(await post(posts('127.0.0.0/8'), `https://127.0.0.1:${port}/`)).toEqual({
    status: 204,
    retryAfter: undefined,
  });
  await expect(post(posts('10.0.0.0/8'), `https://127.0.0.1:${port}/`)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
  });
  expect(asked).toBe(1);
});

it('dials the address that it looked at: a name that leads elsewhere the next time is refused then', async () => {
  const reached: string[] = [];
  const port = await serve(({ socket }, response) => {
    reached.push(socket.localAddress ?? '');
    response.end();
  }, '0.0.0.0');
  const answers = ['127.0.0.2', '127.0.0.1'];
  const via = posts('127.0.0.2', { resolve: async () => [answers.shift() ?? '127.0.0.1'] });
  expect((await post(via, `https://${HOST}:${port}/`)).status).toBe(200);
  // It was resolved once, and that is what was dialled.
  expect([reached, answers]).toEqual([['127.0.0.2'], ['127.0.0.1']]);
  await expect(post(via, `https://${HOST}:${port}/`)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  const mixed = posts('127.0.0.2', { resolve: async () => ['127.0.0.2', '127.0.0.1'] });
  await expect(post(mixed, `https://${HOST}:${port}/`)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  expect(reached).toHaveLength(1);
});

it('speaks http: to allowed ranges alone, and only where it may', async () => {
  const port = await listen(
    createPlain((_request, response) => response.end()),
    '127.0.0.1',
  );
  const url = `http://127.0.0.1:${port}/`;
  await expect(post(posts('127.0.0.1'), url)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  expect((await post(posts('127.0.0.1', { plaintext: true }), url)).status).toBe(200);
  const via = posts('127.0.0.1', { plaintext: true, resolve: async () => ['198.41.0.4'] });
  await expect(post(via, `http://${HOST}:${port}/`)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

it('follows no redirect, reads little of an answer, and waits no longer than it may', async () => {
  let asked = 0;
  const port = await serve(({ url }, response) => {
    asked += 1;
    if (url === '/moved') response.writeHead(307, { location: '/' }).end();
    else if (url === '/busy') response.writeHead(503, { 'retry-after': '7' }).end();
    else if (url === '/endless') {
      const write = (): boolean => !response.destroyed && response.write(Buffer.alloc(65_536)) && write();
      response.on('drain', write);
      write();
    }
  });
  const via = posts('127.0.0.1');
  const at = (path: string): string => `https://127.0.0.1:${port}${path}`;
  expect((await post(via, at('/moved'))).status).toBe(307);
  expect(await post(via, at('/busy'))).toEqual({ status: 503, retryAfter: '7' });
  expect((await post(via, at('/endless'))).status).toBe(200);
  expect(asked).toBe(3);
  await expect(post(via, at('/silent'), 200)).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
});

it('ends where the answer is another protocol, which Node gives to nobody', async () => {
  const port = await serve((request) => {
    request.socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
  });
  await expect(post(posts('127.0.0.1/32'), `https://127.0.0.1:${port}/`)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
  });
});

it('says no more of a URL than its host, and trusts no certificate but those it may', async () => {
  const port = await serve((_request, response) => response.end());
  const secret = 'T0K3N';
  for (const url of [
    `https://${secret}:x@127.0.0.1:${port}/`,
    `ftp://127.0.0.1/${secret}`,
    `https://127.0.0.1:1/${secret}?${secret}`,
    `nothing ${secret}`,
  ]) {
    const error: unknown = await post(posts('127.0.0.1'), url).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Error);
    expect((error as Error).message).not.toContain(secret);
  }
  const untrusting = posts('127.0.0.1', { ca: undefined });
  await expect(post(untrusting, `https://127.0.0.1:${port}/`)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});
