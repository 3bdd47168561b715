import { once } from 'node:events';
import { createServer as createHttp, type RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { connect as connectTcp, type AddressInfo, type Server, type Socket } from 'node:net';
import type { FairleadError } from '@fairlead/errors';
import { testAuthority, type TestAuthority, type TestCertificate } from '@fairlead/testing';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { apiClient, type Target } from './api-client.js';

const DAY_MS = 86_400_000;
const running: Server[] = [];
let authority: TestAuthority;
let valid: TestCertificate;

beforeAll(async () => {
  authority = await testAuthority();
  valid = await authority.serving(['127.0.0.1']);
});

afterEach(() => {
  vi.useRealTimers();
  for (const server of running.splice(0)) server.close();
});

async function listen(server: Server): Promise<number> {
  running.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const serve = (certificate: TestCertificate, handler: RequestListener, tls: object = {}): Promise<number> =>
  listen(createServer({ key: certificate.privateKeyPem, cert: certificate.chainPem, ...tls }, handler));

const ok: RequestListener = (_request, response) => void response.end('{}');

/** What the user is told when they ask this server. */
async function told(
  port: number,
  change: Partial<Target> = {},
): Promise<{ message: string; next: unknown; code: string }> {
  const target = {
    server: `https://127.0.0.1:${port}`,
    token: 'secret-token',
    certificateAuthority: authority.root.certificatePem,
  };
  await using api = apiClient({ ...target, ...change });
  const error = await api.ask(z.object({}), '/v1/whoami').then(
    () => expect.fail('it was accepted'),
    (failure: FairleadError) => failure,
  );
  expect(`${error.message} ${String(error.details?.next)}`).not.toContain('secret-token');
  return { message: error.message, next: error.details?.next, code: error.code };
}

describe('each way a connection fails has words of its own', () => {
  it('expired certificate', async () => {
    const notAfter = new Date(Date.now() - DAY_MS);
    const notBefore = new Date(Date.now() - 2 * DAY_MS);
    const port = await serve(await authority.serving(['127.0.0.1'], { notBefore, notAfter }), ok);
    expect(await told(port)).toMatchObject({ message: expect.stringContaining('has expired') as string });
  });

  it('certificate from the future', async () => {
    const port = await serve(
      await authority.serving(['127.0.0.1'], { notBefore: new Date(Date.now() + DAY_MS / 2) }),
      ok,
    );
    expect(await told(port)).toMatchObject({ next: 'check the clock of this machine' });
  });

  it('certificate for another host', async () => {
    const port = await serve(await authority.serving(['elsewhere.example']), ok);
    expect(await told(port)).toMatchObject({ next: expect.stringContaining('FAIRLEAD_API_SERVING_NAMES') as string });
  });

  it('unknown authority, private or self-made', async () => {
    const other = await testAuthority();
    const port = await serve(await other.serving(['127.0.0.1']), ok);
    expect(await told(port)).toMatchObject({ message: expect.stringContaining('not trusted here') as string });
    const { root } = authority;
    const self = await listen(createServer({ key: root.privateKeyPem, cert: root.certificatePem }, ok));
    const nobody = other.root.certificatePem;
    expect(await told(self, { certificateAuthority: nobody })).toMatchObject({
      next: expect.stringContaining('--ca-file') as string,
    });
  });

  it('no TLS, and an older TLS', async () => {
    const plain = await listen(createHttp(ok));
    expect(await told(plain)).toMatchObject({ message: expect.stringContaining('does not speak TLS 1.3') as string });
    const old = await serve(valid, ok, { maxVersion: 'TLSv1.2' });
    expect(await told(old)).toMatchObject({ message: expect.stringContaining('does not speak TLS 1.3') as string });
  });

  it('a host that does not exist', async () => {
    const { message } = await told(0, { server: 'https://no-such-host.invalid:7070' });
    expect(message).toContain('its name cannot be resolved');
  });

  it('silence, before and within the answer', async () => {
    const silent = await serve(valid, () => undefined);
    expect(await told(silent, { deadlineMs: 200 })).toMatchObject({
      message: expect.stringContaining('in time') as string,
    });
    const half = await serve(valid, (_request, response) => void response.writeHead(200).write('{'));
    expect(await told(half, { deadlineMs: 200 })).toMatchObject({
      message: expect.stringContaining('in time') as string,
    });
  });

  it('a connection that breaks off', async () => {
    const port = await serve(valid, (request) => request.socket.destroy());
    expect(await told(port)).toMatchObject({ message: expect.stringContaining('broke off') as string });
  });
});

it('a refused token is told how to log in as before, in one command', async () => {
  const refuse: RequestListener = (_request, response) => {
    response.writeHead(401).end(JSON.stringify({ detail: 'the token is not known', code: 'UNAUTHENTICATED' }));
  };
  const port = await serve(valid, refuse);
  const again = `fairlead login --server https://127.0.0.1:${port}`;
  expect(await told(port)).toMatchObject({ next: `${again} --token-file FILE` });
  const certificateAuthorityFile = '/home/me/my root.pem';
  expect(await told(port, { certificateAuthorityFile, issued: { issuer: { name: 'corporate' } } })).toMatchObject({
    next: `${again} --ca-file '/home/me/my root.pem' --issuer corporate`,
  });
});

describe('what may pass', () => {
  const away = { detail: 'gitops is away', code: 'UNAVAILABLE', next: 'try again' };
  const target = (port: number): Target => ({
    server: `https://127.0.0.1:${port}`,
    token: 'x',
    certificateAuthority: authority.root.certificatePem,
  });
  /** Fails so often, then answers. */
  const failing = (times: number, fail: RequestListener, seen: string[]): RequestListener => {
    return (request, response) => {
      seen.push(request.method ?? '');
      if (seen.length > times) response.end('{}');
      else fail(request, response);
    };
  };
  const unavailable: RequestListener = (_request, response) => {
    response.writeHead(503).end(JSON.stringify(away));
  };

  it.each<[string, RequestListener]>([
    ['a part that is away', unavailable],
    ['a connection that breaks off', (request) => request.socket.destroy()],
    ['a load balancer without a server', (_request, response) => void response.writeHead(503).end('<html>')],
  ])('is asked again, if it only reads: %s', async (_what, fail) => {
    // However busy the machine is, the time for another attempt is not over.
    vi.useFakeTimers({ toFake: ['Date'] });
    const seen: string[] = [];
    await using api = apiClient(target(await serve(valid, failing(2, fail, seen))));
    await expect(api.ask(z.object({}), '/v1/clusters')).resolves.toEqual({});
    expect(seen).toEqual(['GET', 'GET', 'GET']);
  });

  it('is asked once where that changes something, or spends a link', async () => {
    const seen: string[] = [];
    await using api = apiClient(target(await serve(valid, failing(9, unavailable, seen))));
    for (const method of ['POST', 'PUT', 'DELETE'] as const) {
      await expect(api.ask(z.object({}), '/v1/clusters', { method })).rejects.toMatchObject({ code: away.code });
    }
    await expect(api.text('/import/secret', { authenticated: false })).rejects.toThrow(away.detail);
    expect(seen).toEqual(['POST', 'PUT', 'DELETE', 'GET']);
  });

  it.each([401, 403, 404, 500])('is not what is answered with %s', async (status) => {
    const seen: string[] = [];
    const refuse: RequestListener = (_request, response) => {
      response.writeHead(status).end(JSON.stringify({ ...away, code: 'NOT_FOUND' }));
    };
    await using api = apiClient(target(await serve(valid, failing(9, refuse, seen))));
    await expect(api.ask(z.object({}), '/v1/clusters')).rejects.toThrow(away.detail);
    expect(seen).toEqual(['GET']);
  });
});

describe('a forward proxy', () => {
  it('is crossed with CONNECT, and left out where it should be', async () => {
    const seen: string[] = [];
    const tunnel = createHttp();
    tunnel.on('connect', (request, client: Socket) => {
      seen.push(request.url ?? '');
      const upstream = connectTcp(Number(request.url?.split(':')[1]), '127.0.0.1', () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        upstream.pipe(client).pipe(upstream);
      });
    });
    const [port, proxyPort] = [await serve(valid, ok), await listen(tunnel)];
    const target = {
      server: `https://127.0.0.1:${port}`,
      token: 'x',
      certificateAuthority: authority.root.certificatePem,
    };
    const url = `http://127.0.0.1:${proxyPort}`;
    for (const except of ['', '127.0.0.1']) {
      await using api = apiClient({ ...target, proxy: { url, except } });
      await expect(api.ask(z.object({}), '/')).resolves.toEqual({});
    }
    expect(seen).toEqual([`127.0.0.1:${port}`]);
  });
});

describe('answers that are not of Fairlead', () => {
  it.each([
    ['a web page', 200, '<html>'],
    ['another shape', 200, '[]'],
    ['an error page of a proxy', 502, '<html>'],
    ['a redirect, which is not followed', 302, ''],
  ])('%s', async (_what, status, body) => {
    const paths: (string | undefined)[] = [];
    const port = await serve(valid, (request, response) => {
      paths.push(request.url);
      response.writeHead(status, { location: '/elsewhere' }).end(body);
    });
    expect(await told(port)).toMatchObject({
      code: 'PROTOCOL_ERROR',
      next: expect.stringContaining('check that') as string,
    });
    expect(paths).toEqual(['/v1/whoami']);
  });

  it('an error code of the future', async () => {
    const port = await serve(valid, (_request, response) => {
      response.writeHead(418).end(JSON.stringify({ detail: 'short and stout', code: 'TEAPOT', next: 'pour' }));
    });
    expect(await told(port)).toEqual({ message: 'short and stout', next: 'pour', code: 'INTERNAL' });
  });
});
