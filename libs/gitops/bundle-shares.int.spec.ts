import 'reflect-metadata';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { DEFAULT_TENANT, gitopsRpc, type Bundle } from '@fairlead/contracts';
import { eventually, testAuthority } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { silentLogger } from '@fairlead/observability';
import { BundleReader, READER_LIMITS } from './feature/bundle-reader.js';
import { BundleUploads } from './feature/bundle-uploads.js';
import { Bundles } from './feature/bundles.js';
import { actor, gitopsFixture, type GitopsFixture } from './testing/gitops-fixture.js';
import { fluxManifest } from './testing/manifests.js';

const yaml = fluxManifest('v1');
const digest = createHash('sha256').update(yaml).digest('hex');

let gitops: GitopsFixture;
let running: AsyncDisposable;
let server: Server;
let url: string;
let waiting = 0;

beforeAll(async () => {
  const authority = await testAuthority();
  const { privateKeyPem: key, chainPem: cert } = await authority.serving(['localhost']);
  server = createServer({ key, cert }, (request, response) => {
    if (request.url !== '/silence') response.end(yaml);
    else waiting += 1;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `https://localhost:${(server.address() as AddressInfo).port}`;
  gitops = await gitopsFixture({ fetch: { privateAddresses: true, ca: authority.root.certificatePem } });
  running = await gitops.start();
});
afterAll(async () => {
  server?.closeAllConnections();
  server?.close();
  await running?.[Symbol.asyncDispose]();
  await gitops?.[Symbol.asyncDispose]();
});

const fetch = (tenantId: string, path: string): Promise<Bundle> =>
  gitops.asApi.call(gitopsRpc.importBundleUrl, tenantId, {
    tool: 'flux',
    version: 'v1',
    url: url + path,
    digest,
    actor,
  });

it('a server that says nothing takes its tenant’s share alone', async () => {
  const slow = fetch(DEFAULT_TENANT, '/silence').catch((error: unknown) => error);
  await eventually(() => expect(waiting).toBe(1), { timeoutMs: 30_000 });
  await expect(fetch(DEFAULT_TENANT, '/bundle')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  expect(await fetch('other', '/bundle')).toMatchObject({ digest });
  server.closeAllConnections();
  expect(await slow).toMatchObject({ code: 'UNAVAILABLE' });
  expect(await fetch(DEFAULT_TENANT, '/bundle')).toMatchObject({ digest });
});

it('an upload is taken out of the database once it is its turn, and not before', async () => {
  const source = { role: 'gitops', credential: 'gitops' } as const;
  const { database } = gitops;
  const runtime = {
    database,
    source,
    logger: silentLogger,
    onCommitted: () => undefined,
    onDesired: () => undefined,
    now: () => new Date(),
  };
  const reader = new BundleReader({ ...READER_LIMITS, waiting: 0 });
  const uploads = new BundleUploads(runtime, new Bundles(runtime, reader));
  const bytes = Buffer.byteLength(yaml);
  const wanted = { tool: 'flux', version: 'v1', digest, origin: 'install.yaml', actor, bytes } as const;
  const { uploadId } = await uploads.begin('third', wanted);
  await uploads.piece('third', uploadId, 0, Buffer.from(yaml));
  const turn = Promise.withResolvers<void>();
  const before = reader.inTurn('busy', () => turn.promise);
  const locked = database.createQueryRunner();
  await locked.startTransaction();
  await locked.query('lock table bundle_pieces in access exclusive mode');
  await expect(uploads.finish(source, 'third', uploadId)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  turn.resolve();
  await before;
  const finished = uploads.finish(source, 'third', uploadId);
  await locked.commitTransaction();
  await locked.release();
  expect(await finished).toMatchObject({ digest });
});
