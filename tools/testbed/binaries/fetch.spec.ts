import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../fixtures/temporary.js';
import { DEFAULT_LIMITS, fetchText, fetchToFile, knownUnreachable, type FetchLimits } from './fetch.js';

const LIMITS: FetchLimits = {
  ...DEFAULT_LIMITS,
  connectTimeoutMs: 20_000,
  maxBytes: 1000,
  idleTimeoutMs: 20_000,
  allowHttpLoopback: true,
};

async function serve(listener: RequestListener): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer(listener);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  };
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: close };
}

describe('fetch', () => {
  it('writes the body and sums it, across redirects', async () => {
    await using dir = await temporaryDirectory();
    await using server = await serve((request, response) => {
      if (request.url === '/') response.writeHead(302, { location: '/file' }).end();
      else response.end('content');
    });
    const path = join(dir.path, 'file');
    const sum = await fetchToFile(`${server.url}/`, path, { limits: LIMITS });
    expect(sum).toBe(createHash('sha256').update('content').digest('hex'));
    expect(await readFile(path, 'utf8')).toBe('content');
  });

  it('ends a redirect loop', async () => {
    let asked = 0;
    await using server = await serve((_request, response) => {
      asked++;
      response.writeHead(302, { location: '/again' }).end();
    });
    await expect(fetchText(server.url, { limits: LIMITS })).rejects.toThrow('more than 5 redirects');
    expect(asked).toBe(6);
  });

  it('refuses a body that is too long, declared or not', async () => {
    await using server = await serve((request, response) => {
      if (request.url === '/declared') response.writeHead(200, { 'content-length': 5000 });
      response.end('x'.repeat(5000));
    });
    await expect(fetchText(`${server.url}/declared`, { limits: LIMITS })).rejects.toThrow('longer than 1000 bytes');
    await expect(fetchText(`${server.url}/chunked`, { limits: LIMITS })).rejects.toThrow('longer than 1000 bytes');
  });

  it('refuses a body that ends early', async () => {
    await using server = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': 500 });
      response.write('x'.repeat(100), () => response.destroy());
    });
    await expect(fetchText(server.url, { limits: LIMITS })).rejects.toThrow(server.url);
  });

  it('gives up on a server that falls silent', async () => {
    await using server = await serve((_request, response) =>
      response.writeHead(200, { 'content-length': 500 }).write('x'),
    );
    const limits = { ...LIMITS, idleTimeoutMs: 1_000 };
    await expect(fetchText(server.url, { limits })).rejects.toThrow(/silent|aborted/u);
  });

  it('reports the status of a missing file', async () => {
    await using server = await serve((_request, response) => response.writeHead(404).end());
    await expect(fetchText(`${server.url}/x`, { limits: LIMITS })).rejects.toThrow('/x: answered 404');
  });

  it('uses https only, also where a redirect leads', async () => {
    await using server = await serve((_request, response) =>
      response.writeHead(302, { location: 'http://198.51.100.1/file' }).end(),
    );
    await expect(fetchText(server.url, { limits: LIMITS })).rejects.toThrow(
      'http://198.51.100.1/file: only https is used',
    );
    await expect(fetchText(server.url, { limits: DEFAULT_LIMITS })).rejects.toThrow('only https is used');
  });

  it('remembers a host that cannot be reached', async () => {
    const server = await serve((_request, response) => response.end());
    await server[Symbol.asyncDispose]();
    await expect(fetchText(server.url, { limits: LIMITS })).rejects.toThrow('is not reachable');
    expect(knownUnreachable(`${server.url}/other`)).toContain('ECONNREFUSED');
    await expect(fetchText(server.url, { limits: LIMITS })).rejects.toThrow('found out earlier');
  });

  it('stops when it is told to', async () => {
    await using server = await serve((_request, response) =>
      response.writeHead(200, { 'content-length': 500 }).write('x'),
    );
    const signal = AbortSignal.timeout(50);
    await expect(fetchText(server.url, { limits: LIMITS, signal })).rejects.toThrow(signal.reason);
  });
});
