import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SERVICE_NAMES } from '@fairlead/contracts';
import { connectNats } from '@fairlead/messaging';
import { silentLogger } from '@fairlead/observability';
import { connectDatabase, createDatabase } from '@fairlead/persistence';
import {
  freePort,
  startNats,
  startPostgres,
  type NatsInfo,
  type PostgresInfo,
  type Running,
  type ServerTls,
} from '@fairlead/testbed';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { prepareCredentials, type PreparedCredentials } from './prepare-credentials.js';
import { baseEnvironment } from './process/base-environment.js';
import { runCommand, type CommandOutput } from './process/run-command.js';
import { REPOSITORY } from './state/repository.js';

const GATEWAY = 'fairlead-gateway-0';

let scratch: ScratchDir;
let prepared: PreparedCredentials;
let nats: Running<NatsInfo>;
let postgres: Running<PostgresInfo>;
let stateDir: string;
const secret = (name: string): string => join(stateDir, 'secrets', name);

/** Servers as somebody else runs them, with nothing but what was prepared. */
beforeAll(async () => {
  scratch = await scratchDir();
  stateDir = scratch.file('credentials');
  const names = ['server.fairlead.svc', '127.0.0.1', 'localhost'];
  prepared = await prepareCredentials(stateDir, { gateways: [GATEWAY], natsNames: names, postgresNames: names });
  const tls = (server: string): ServerTls => ({
    caFile: prepared.caPath,
    certFile: secret(`${server}-server.crt`),
    keyFile: secret(`${server}-server.key`),
  });
  const log = (): void => undefined;
  const authorizationConfig = readFileSync(prepared.natsConfigPath, 'utf8');
  nats = await startNats({ dataDir: scratch.file('nats'), tls: tls('nats'), authorizationConfig, log });
  const accessConfig = readFileSync(prepared.postgresAccessPath, 'utf8');
  postgres = await startPostgres({
    dataDir: scratch.file('pg'),
    tls: tls('postgres'),
    accessConfig,
    durable: false,
    log,
  });
});
afterAll(async () => {
  await nats?.stop();
  await postgres?.stop();
  await scratch[Symbol.asyncDispose]();
});

function run(tool: string, ...args: string[]): Promise<CommandOutput> {
  const script = join(REPOSITORY, 'tools', 'stack', 'dist', `${tool}.js`);
  return runCommand(process.execPath, [script, ...args], { env: baseEnvironment(), timeoutMs: 120_000 });
}

it('provisions a nats-server, which then knows the gateway', async () => {
  const operator = ['--url', nats.info.url, '--seed-file', secret('nats-operator.seed')];
  expect(await run('provision-nats', ...operator, '--ca-file', prepared.caPath)).toMatchObject({ code: 0 });
  const nc = await connectNats({
    role: 'gateway',
    credential: GATEWAY,
    url: nats.info.url,
    caFile: prepared.caPath,
    seedFile: secret(`nats-${GATEWAY}.seed`),
    logger: silentLogger,
    signal: AbortSignal.timeout(30_000),
  });
  await expect(nc.flush()).resolves.toBeUndefined();
  await nc.close();
});

it('provisions a Postgres, and leaves each service a URL that works', async () => {
  const urlFile = scratch.file('admin.url');
  writeFileSync(urlFile, postgres.info.adminUrl, { mode: 0o600 });
  const args = ['--url-file', urlFile, '--state-dir', stateDir, '--address', `localhost:${postgres.info.port}`];
  for (let times = 0; times < 2; times += 1) {
    expect(await run('provision-postgres', ...args)).toMatchObject({ code: 0, stderr: '' });
  }
  for (const service of SERVICE_NAMES) {
    const url = readFileSync(secret(`database-${service}.url`), 'utf8').trim();
    expect(url).toMatch(/@localhost:\d+\/fairlead\?sslmode=verify-full$/);
    const options = { url, caFile: prepared.caPath, service, entities: [], migrations: [], logger: silentLogger };
    const database = createDatabase(options);
    await connectDatabase(database, silentLogger, AbortSignal.timeout(30_000));
    expect(await database.query('select current_user as role')).toEqual([{ role: service }]);
    await database.destroy();
  }
});

it('says in one line which Postgres it does not reach, and what may have ended', async () => {
  const urlFile = scratch.file('away.url');
  const url = new URL(postgres.info.adminUrl);
  const { password } = url;
  const port = await freePort();
  url.port = String(port);
  writeFileSync(urlFile, url.href, { mode: 0o600 });
  const { code, stderr } = await run('provision-postgres', '--url-file', urlFile, '--state-dir', stateDir);
  expect(code).toBe(1);
  expect(stderr).toMatch(`cannot provision Postgres at 127.0.0.1:${port}: connect ECONNREFUSED`);
  expect(stderr).toMatch(/ Is that a kubectl port-forward\? .* start it anew .*\n$/);
  expect(stderr.trimEnd()).not.toMatch(/\n/);
  expect(stderr).not.toContain(password);
});

it('says what is missing', async () => {
  expect(await run('provision-postgres')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Usage:') as string,
  });
  expect(await run('provision-nats')).toMatchObject({ code: 1, stderr: expect.stringContaining('Usage:') as string });
});
