import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { testAuthority } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { checkKubernetes } from './check-kubernetes.js';
import type { Finding } from './finding.js';

it('does not read an answer without end, and says so', async () => {
  const authority = await testAuthority();
  const { privateKeyPem: key, chainPem: cert } = await authority.serving(['127.0.0.1']);
  const chunk = Buffer.alloc(64 * 1024, 0x20);
  const mostBytes = 256 * 1024 * 1024;
  let sentBytes = 0;
  const server = createServer({ key, cert }, (_, response) => {
    const more = (): void => {
      while (sentBytes < mostBytes) {
        sentBytes += chunk.length;
        if (!response.write(chunk)) return;
      }
      response.end();
    };
    response.on('drain', more).on('error', () => undefined);
    more();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const caPem = authority.roots.join('\n');
  const api = { host: '127.0.0.1', port, caPem, token: () => Promise.resolve('token') };
  const findings: Finding[] = [];
  try {
    for await (const finding of checkKubernetes(api, [], Date.now)) findings.push(finding);
  } finally {
    server.closeAllConnections();
    server.close();
  }
  expect(findings).toMatchObject([
    { check: 'kubernetes', ok: false, detail: expect.stringContaining('more than 1 MiB') as string },
  ]);
  expect(sentBytes).toBeLessThan(mostBytes / 4);
});
