import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startNats, startPostgres, type ServerTls } from '@fairlead/testbed';
import { scratchDir } from '@fairlead/testing';
import { afterEach, expect, it, vi } from 'vitest';
import { prepareCredentials } from './prepare-credentials.js';
import { startStack } from './start-stack.js';

afterEach(() => void vi.unstubAllEnvs());

it('runs on a nats-server and a Postgres that somebody else started, by TLS', async () => {
  await using scratch = await scratchDir();
  chmodSync(scratch.path, 0o755);
  const stateDir = scratch.file('state');
  const { caPath: caFile, natsConfigPath, postgresAccessPath } = await prepareCredentials(stateDir);
  const tls = (server: string): ServerTls => {
    const file = (kind: string): string => join(stateDir, 'secrets', `${server}-server.${kind}`);
    return { caFile, certFile: file('crt'), keyFile: file('key') };
  };
  const log = (): void => undefined;
  const authorizationConfig = readFileSync(natsConfigPath, 'utf8');
  await using nats = await startNats({ dataDir: scratch.file('nats'), tls: tls('nats'), authorizationConfig, log });
  const accessConfig = readFileSync(postgresAccessPath, 'utf8');
  const dataDir = scratch.file('pg');
  await using postgres = await startPostgres({ dataDir, tls: tls('postgres'), accessConfig, durable: false, log });
  vi.stubEnv('NATS_URL', nats.info.url);
  vi.stubEnv('DATABASE_URL', postgres.info.adminUrl);
  await using stack = await startStack({ stateDir, basePort: 0, demo: false, gateways: ['gateway-a'] });
  expect(stack.nats).toEqual({ url: nats.info.url, caFile });
  expect(await stack.cli(['cluster', 'create', 'shop'])).toMatchObject({ code: 0 });
  expect(await stack.cli(['cluster', 'list', '-o', 'name'])).toMatchObject({ code: 0, stdout: 'shop\n' });
});
