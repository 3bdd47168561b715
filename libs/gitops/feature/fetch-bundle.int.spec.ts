import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { testAuthority } from '@fairlead/testing';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { fetchBundle, type FetchOptions } from './fetch-bundle.js';

let server: Server;
let base: string;
let options: FetchOptions;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let asked = 0;

beforeAll(async () => {
  const authority = await testAuthority();
  const { privateKeyPem: key, chainPem: cert } = await authority.serving(['localhost', '127.0.0.1']);
  server = createServer({ key, cert }, (request, response) => {
    asked += 1;
    answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  base = `https://localhost:${(server.address() as AddressInfo).port}`;
  options = { privateAddresses: true, ca: authority.root.certificatePem };
});
beforeEach(() => {
  asked = 0;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

const refused = (code: string): object => expect.objectContaining({ code }) as object;

it('reads a file, through redirects', async () => {
  answer = ({ url }, response) => {
    if (url === '/file') response.end('contents');
    else response.writeHead(302, { location: url === '/a' ? '/b' : `${base}/file` }).end();
  };
  expect((await fetchBundle(`${base}/a`, options)).toString()).toBe('contents');
});

it('asks no private address unless it is configured to, however it is named', async () => {
  answer = (_request, response) => response.end('contents');
  const { port } = server.address() as AddressInfo;
  for (const host of ['localhost', '127.0.0.1', '[::ffff:127.0.0.1]', '127.1', '0x7f000001', '[::1]']) {
    const fetching = fetchBundle(`https://${host}:${port}/`, { ...options, privateAddresses: false });
    await expect(fetching).rejects.toEqual(refused('INVALID_ARGUMENT'));
  }
  expect(asked).toBe(0);
});

it.each(['http://localhost/x', 'file:///etc/passwd', 'https://user:secret@localhost/x', 'ftp://x/'])(
  'follows no redirect to %s',
  async (location) => {
    answer = (_request, response) => response.writeHead(301, { location }).end();
    await expect(fetchBundle(base, options)).rejects.toEqual(refused('INVALID_ARGUMENT'));
    expect(asked).toBe(1);
  },
);

it('ends with a server that redirects for ever, answers with an error, or is not trusted', async () => {
  answer = (_request, response) => response.writeHead(307, { location: base }).end();
  await expect(fetchBundle(base, options)).rejects.toEqual(refused('UNAVAILABLE'));
  expect(asked).toBe(6);
  answer = (_request, response) => response.writeHead(404).end();
  await expect(fetchBundle(base, options)).rejects.toEqual(refused('UNAVAILABLE'));
  await expect(fetchBundle(base, { privateAddresses: true })).rejects.toEqual(refused('UNAVAILABLE'));
});

it('reads no more than a bundle has, and for no longer than it may', async () => {
  answer = (_request, response) => {
    const chunk = Buffer.alloc(1_048_576);
    const write = (): boolean => !response.destroyed && response.write(chunk) && write();
    response.on('drain', write);
    write();
  };
  await expect(fetchBundle(base, options)).rejects.toEqual(refused('TOO_LARGE'));
  answer = (_request, response) => void response.write('a little');
  const slow = fetchBundle(base, { ...options, timeoutMs: 300 });
  await expect(slow).rejects.toEqual(refused('UNAVAILABLE'));
});
