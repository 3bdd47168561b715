import { readFile } from 'node:fs/promises';
import { createServer as createProxy } from 'node:http';
import { createServer } from 'node:https';
import { connect, type AddressInfo, type Server } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { ensurePki } from '../components/kubernetes-pki.js';
import { temporaryDirectory } from '../fixtures/temporary.js';
import { DEFAULT_LIMITS, fetchText } from './fetch.js';

const LIMITS = { ...DEFAULT_LIMITS, connectTimeoutMs: 20_000 };
/** As short as a busy machine may need for it. */
const CONNECT_MS = 5_000;
const SLOWER_THAN_CONNECTING_MS = CONNECT_MS + 200;

async function listen(server: Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return (server.address() as AddressInfo).port;
}

describe('fetch over TLS', () => {
  let dir: Awaited<ReturnType<typeof temporaryDirectory>>;
  let caPem: string;
  let server: ReturnType<typeof createServer>;
  let url: string;
  const trusted = getCACertificates();

  beforeAll(async () => {
    dir = await temporaryDirectory();
    const pki = await ensurePki(dir.path);
    ({ caPem } = pki);
    const [cert, key] = await Promise.all([readFile(pki.path('serving.crt')), readFile(pki.path('serving.key'))]);
    server = createServer({ cert, key }, ({ url: path }, response) => {
      setTimeout(() => response.end('content'), path === '/slow' ? SLOWER_THAN_CONNECTING_MS : 0);
    });
    url = `https://localhost:${await listen(server)}/`;
  });

  afterEach(() => {
    setDefaultCACertificates(trusted);
    vi.unstubAllEnvs();
  });

  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
    await dir[Symbol.asyncDispose]();
  });

  it('takes its time for the answer once it is connected', async () => {
    setDefaultCACertificates([caPem]);
    const limits = { ...LIMITS, connectTimeoutMs: CONNECT_MS };
    expect(await fetchText(`${url}slow`, { limits })).toBe('content');
  });

  it('goes through the proxy of HTTPS_PROXY', async () => {
    setDefaultCACertificates([caPem]);
    const asked: string[] = [];
    const proxy = createProxy();
    proxy.on('connect', (request, socket) => {
      asked.push(request.url!);
      const upstream = connect(Number(request.url!.split(':')[1]), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        upstream.pipe(socket).pipe(upstream);
      });
      for (const end of [upstream, socket]) end.on('error', () => end.destroy());
    });
    vi.stubEnv('HTTPS_PROXY', `http://127.0.0.1:${await listen(proxy)}`);
    vi.stubEnv('NO_PROXY', '');
    expect(await fetchText(url, { limits: LIMITS })).toBe('content');
    expect(asked).toEqual([new URL(url).host]);
    proxy.closeAllConnections();
    await new Promise((done) => proxy.close(done));
  });

  // Last: an unreachable host is remembered.
  it('does not talk to a server it cannot verify', async () => {
    await expect(fetchText(url, { limits: LIMITS })).rejects.toThrow('is not reachable');
  });
});
