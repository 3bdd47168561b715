import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { testAuthority, type TestAuthority } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { dialHost, type Seen } from './dial-host.js';
import type { NeededHost } from './needed-hosts.js';

/** Where it is not about the deadline: this process may be held up. */
const PATIENT_MS = 20_000;
const { signal } = new AbortController();
const servers = new AsyncDisposableStack();
let authority: TestAuthority;
let foreign: TestAuthority;

beforeAll(async () => {
  [authority, foreign] = await Promise.all([testAuthority(), testAuthority()]);
});
afterAll(() => servers.disposeAsync());

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  servers.defer(async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, 'close');
  });
  return (server.address() as AddressInfo).port;
}

async function registry(of: TestAuthority, listener: RequestListener, names = ['127.0.0.1', 'localhost']) {
  const { privateKeyPem, chain } = await of.serving(names);
  return listen(createHttpsServer({ key: privateKeyPem, cert: chain.slice(0, 2).join('') }, listener));
}

const says = (text: string): Promise<number> => listen(createServer((socket) => void socket.write(text)));

function dial(
  port: number,
  more: Partial<NeededHost> = {},
  { deadlineMs = PATIENT_MS, until = signal } = {},
): Promise<Seen> {
  const target: NeededHost = { kind: 'registry', host: '127.0.0.1', port, ...more };
  return dialHost(target, { deadlineMs, caPem: authority.root.certificatePem }, until);
}

it('reaches a registry of a trusted authority, whatever it answers, and tells it nothing of itself', async () => {
  const asked: unknown[] = [];
  const port = await registry(authority, ({ method, url, headers }, answer) => {
    asked.push([method, url, headers.host, headers.authorization ?? null]);
    answer.writeHead(401, { 'www-authenticate': 'Bearer realm="https://elsewhere.example/token"' }).end('{}');
  });
  expect(await dial(port)).toEqual({ code: 'REACHABLE', message: '' });
  expect(await dial(port, { host: 'localhost' })).toMatchObject({ code: 'REACHABLE' });
  expect(asked).toEqual([
    ['GET', '/v2/', `127.0.0.1:${port}`, null],
    ['GET', '/v2/', `localhost:${port}`, null],
  ]);
});

it('follows no redirect, and takes no long answer', async () => {
  let other = 0;
  const elsewhere = await registry(authority, (_request, answer) => {
    other += 1;
    answer.end();
  });
  let sent = 0;
  const port = await registry(authority, (_request, answer) => {
    answer.writeHead(307, { location: `https://127.0.0.1:${elsewhere}/v2/` });
    const pour = (): void => {
      for (; sent < 64 * 2 ** 20; sent += 65_536) {
        if (!answer.write(Buffer.alloc(65_536))) return void answer.once('drain', pour);
      }
      answer.end();
    };
    pour();
  });
  expect(await dial(port)).toMatchObject({ code: 'REACHABLE' });
  expect([other, sent < 32 * 2 ** 20]).toEqual([0, true]);
});

it('tells a certificate that is not trusted, or is of another name, from what is not there', async () => {
  const untrusted = await registry(foreign, (_request, answer) => answer.end());
  const seen = await dial(untrusted);
  expect(seen.code).toBe('CERTIFICATE_UNTRUSTED');
  expect(seen.message).toMatch(/^its certificate is not trusted \([A-Z_]+\)/);
  expect(seen.message.length).toBeLessThanOrEqual(256);
  const another = await registry(authority, (_request, answer) => answer.end(), ['registry.example']);
  expect(await dial(another)).toMatchObject({ code: 'CERTIFICATE_UNTRUSTED' });
  expect((await dial(another)).message).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
});

it('tells a name that is unknown from a host that is down', async () => {
  const down = createServer();
  down.listen(0, '127.0.0.1');
  await once(down, 'listening');
  const { port } = down.address() as AddressInfo;
  down.close();
  await once(down, 'close');
  expect(await dial(port)).toEqual({ code: 'UNREACHABLE', message: 'no connection (ECONNREFUSED)' });
  expect(await dial(443, { host: 'registry.invalid' })).toMatchObject({ code: 'NAME_UNKNOWN' });
});

it('waits no longer than its deadline for a tarpit, at whatever step, and no longer than it is let', async () => {
  const silent = await listen(createServer());
  const mute = await registry(authority, () => undefined);
  const soon = { deadlineMs: 5_000 };
  const begun = performance.now();
  const [tls, http, ssh] = await Promise.all([
    dial(silent, {}, soon),
    dial(mute, {}, soon),
    dial(silent, { kind: 'git' }, soon),
  ]);
  // Without its deadline a dial never ends.
  expect(performance.now() - begun).toBeLessThan(soon.deadlineMs + 15_000);
  for (const seen of [tls, http, ssh]) {
    expect(seen).toEqual({
      code: 'UNREACHABLE',
      message: 'it connects, and breaks off before it answers (nothing within 5 s)',
    });
  }
  const stop = new AbortController();
  const waiting = dial(silent, {}, { deadlineMs: 600_000, until: stop.signal });
  stop.abort();
  expect(await waiting).toMatchObject({ code: 'UNREACHABLE' });
});

it('knows a registry from what speaks no TLS, or no HTTP', async () => {
  expect(await dial(await says('HTTP/1.1 400 Bad Request\r\n\r\n'))).toMatchObject({ code: 'WRONG_ANSWER' });
  const { privateKeyPem, chain } = await authority.serving(['127.0.0.1']);
  const odd = createHttpsServer({ key: privateKeyPem, cert: chain.slice(0, 2).join('') });
  odd.on('secureConnection', (socket) => void socket.end('220 mail.example ESMTP\r\n'));
  expect(await dial(await listen(odd))).toMatchObject({ code: 'WRONG_ANSWER' });
});

it('hears an SSH server by its first line, or the one after a greeting', async () => {
  expect(await dial(await says('SSH-2.0-OpenSSH_9.9\r\n'), { kind: 'git' })).toMatchObject({ code: 'REACHABLE' });
  expect(await dial(await says('hello\r\nSSH-2.0-x\r\n'), { kind: 'git' })).toMatchObject({ code: 'REACHABLE' });
  expect(await dial(await says('x'.repeat(100_000)), { kind: 'git' })).toMatchObject({ code: 'WRONG_ANSWER' });
  const closes = await listen(createServer((socket) => void socket.end()));
  expect(await dial(closes, { kind: 'git' })).toMatchObject({ code: 'WRONG_ANSWER' });
});
