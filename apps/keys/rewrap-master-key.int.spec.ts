import 'reflect-metadata';
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import {
  CurrentCa,
  KEYS_ENTITIES,
  KEYS_MIGRATIONS,
  masterKeyFrom,
  masterKeyInFile,
  masterKeyInToken,
  type KeySource,
} from '@fairlead/keys';
import { SoftToken } from '@fairlead/keys/testing';
import { silentLogger } from '@fairlead/observability';
import { serviceDatabase, type ServiceDatabase } from '@fairlead/persistence/testing';
import { startPostgres, type PostgresInfo, type Running } from '@fairlead/testbed';
import { eventually, scratchDir, type ScratchDir } from '@fairlead/testing';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';

vi.setConfig({ testTimeout: 120_000 });

const HOSTS = 300;
const main = fileURLToPath(new URL('dist/bundle/main.js', import.meta.url));
const confBefore = process.env['SOFTHSM2_CONF'];

let scratch: ScratchDir;
let token: SoftToken;
let postgres: Running<PostgresInfo>;
let databases: ServiceDatabase;
let database: DataSource;
const outputs: string[] = [];

beforeAll(async () => {
  scratch = await scratchDir();
  token = await SoftToken.create(scratch, 'master');
  process.env['SOFTHSM2_CONF'] = token.configFile;
  postgres = await startPostgres({ dataDir: scratch.file('pg'), durable: false, log: () => undefined });
  const schema = { service: 'keys', entities: KEYS_ENTITIES, migrations: KEYS_MIGRATIONS };
  databases = await serviceDatabase(postgres.info.adminUrl, schema);
  await writeFile(scratch.file('url'), databases.url, { mode: 0o600 });
  await writeFile(scratch.file('seed'), 'unused', { mode: 0o600 });
  database = await databases.migrated();
  await fill(masterKeyInFile(scratch.file('master.key')));
});
afterAll(async () => {
  if (confBefore === undefined) delete process.env['SOFTHSM2_CONF'];
  else process.env['SOFTHSM2_CONF'] = confBefore;
  await databases?.[Symbol.asyncDispose]();
  await postgres?.stop();
  await scratch?.[Symbol.asyncDispose]();
});

/** A CA, and Git hosts with tokens. */
async function fill(source: KeySource): Promise<void> {
  const { sealer } = await openCa(source);
  for (let at = 0; at < HOSTS; at += 1) {
    const id = crypto.randomUUID();
    const sealed = await sealer.seal(`token ${id}`, `${id}:git-token`);
    await database.query(
      `insert into git_hosts (id, tenant_id, name, kind, url, ssh_host, ssh_port, create_repositories, sealed_token, revision)
       values ($1, 'default', $2, 'gitea', 'https://git.example', 'git.example', 22, false, $3, 1)`,
      [id, `host-${at}`, sealed],
    );
  }
}

function openCa(...sources: [KeySource, ...KeySource[]]): Promise<CurrentCa> {
  const [seals, ...others] = sources;
  return CurrentCa.open({
    database,
    masterKey: masterKeyFrom(seals, others),
    trustDomain: 'fairlead.local',
    leafLifeSeconds: 86_400,
    source: { role: 'keys', credential: 'keys' },
    logger: silentLogger,
    onCommitted: () => undefined,
  });
}

function inToken(): KeySource {
  const { modulePath, label: tokenLabel, pinFile } = token;
  return masterKeyInToken({ modulePath, tokenLabel, pinFile, keyLabel: 'master' });
}

/** Everything opens: the CA, and each token as what it was. */
async function opensAll(...sources: [KeySource, ...KeySource[]]): Promise<number> {
  const { sealer } = await openCa(...sources);
  const rows = (await database.query('select id, sealed_token from git_hosts')) as {
    id: string;
    sealed_token: Buffer;
  }[];
  let opened = 0;
  for (const { id, sealed_token } of rows) {
    if ((await sealer.unseal(sealed_token, `${id}:git-token`)) === `token ${id}`) opened += 1;
  }
  return opened;
}

function start(settings: NodeJS.ProcessEnv, ...args: string[]): ChildProcess {
  const env = {
    PATH: process.env['PATH'],
    SOFTHSM2_CONF: token.configFile,
    FAIRLEAD_NATS_URL: 'nats://127.0.0.1:1',
    FAIRLEAD_NATS_SEED_FILE: scratch.file('seed'),
    FAIRLEAD_DATABASE_URL_FILE: scratch.file('url'),
    ...settings,
  };
  const child = spawn(process.execPath, [main, 'rewrap-master-key', ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => outputs.push(String(chunk)));
  return child;
}

async function run(settings: NodeJS.ProcessEnv, ...args: string[]): Promise<unknown> {
  const [code] = (await once(start(settings, ...args), 'close')) as [number | null];
  return code;
}

const file = (): NodeJS.ProcessEnv => ({ FAIRLEAD_MASTER_KEY_FILE: scratch.file('master.key') });
const pkcs11 = (): NodeJS.ProcessEnv => ({
  FAIRLEAD_PKCS11_MODULE: token.modulePath,
  FAIRLEAD_PKCS11_TOKEN: token.label,
  FAIRLEAD_PKCS11_KEY: 'master',
  FAIRLEAD_PKCS11_PIN_FILE: token.pinFile,
});
const both = (): NodeJS.ProcessEnv => ({ ...file(), ...pkcs11(), FAIRLEAD_SEAL_WITH: 'pkcs11' });

async function sealedInToken(): Promise<number> {
  const [row] = (await database.query(
    `select count(*)::int as count from git_hosts where position('pkcs11:'::bytea in sealed_token) = 3`,
  )) as { count: number }[];
  return row?.count ?? 0;
}

async function events(): Promise<{ keyName: string; rows: number }[]> {
  const rows = (await database.query('select body from outbox order by id')) as { body: string }[];
  const all = rows.map(({ body }) => JSON.parse(body) as { type: string; data: { keyName: string; rows: number } });
  return all.filter(({ type }) => type === 'dev.fairlead.master-key.rewrapped.v1').map(({ data }) => data);
}

/** For each host a moment: else all of them are done if this process stands still for a second before it kills. */
async function slowUpdates(): Promise<void> {
  await database.query(`create function slow_update() returns trigger language plpgsql as
    'begin perform pg_sleep(0.02); return new; end'`);
  await database.query(
    'create trigger slow_updates before update on git_hosts for each row execute function slow_update()',
  );
}

it('is killed midway, and everything still opens with both keys; what is left is told', async () => {
  await slowUpdates();
  const child = start(both());
  const closed = once(child, 'close');
  await eventually(async () => expect(await sealedInToken()).toBeGreaterThan(20), { intervalMs: 5 });
  child.kill('SIGKILL');
  await closed;
  await database.query('drop trigger slow_updates on git_hosts');
  const done = await sealedInToken();
  expect(done).toBeLessThan(HOSTS);
  expect(await opensAll(inToken(), masterKeyInFile(scratch.file('master.key')))).toBe(HOSTS);
  expect(await events()).toEqual([]);
  outputs.length = 0;
  expect(await run(both(), '--status')).toBe(0);
  expect(outputs.join('')).toContain(`"left":${HOSTS - done}`);
  // Without the key that is being left, it says which one is missing.
  outputs.length = 0;
  expect(await run(pkcs11())).toBe(2);
  expect(outputs.join('')).toMatch(/another master key \(local:[0-9a-f]{16}\), which is not in the settings/);
});

it('goes on in two processes at once, and then the old key is needed no more', async () => {
  const before = await sealedInToken();
  outputs.length = 0;
  expect(await Promise.all([run(both()), run(both())])).toEqual([0, 0]);
  expect(await sealedInToken()).toBe(HOSTS);
  expect(outputs.join('')).toContain('"left":0');
  expect(await opensAll(inToken())).toBe(HOSTS);
  const told = await events();
  const keyName = 'pkcs11:token=fairlead%20test;object=master';
  expect(told.map((event) => event.keyName)).toEqual([keyName, keyName]);
  // The keys of the CA may have been in the part that was killed.
  expect(told.reduce((sum, { rows }) => sum + rows, 0)).toBeGreaterThanOrEqual(HOSTS - before);
});

it('moves to another file, and from it back into the environment', async () => {
  const next = { FAIRLEAD_MASTER_KEY_FILE: scratch.file('next.key') };
  await writeFile(scratch.file('next.key'), randomBytes(32).toString('base64'), { mode: 0o600 });
  expect(await run({ ...next, ...pkcs11(), FAIRLEAD_SEAL_WITH: 'file' })).toBe(0);
  expect(await opensAll(masterKeyInFile(scratch.file('next.key')))).toBe(HOSTS);
  const previous = { FAIRLEAD_OTHER_MASTER_KEY_FILE: scratch.file('next.key') };
  expect(await run({ ...file(), ...previous })).toBe(0);
  expect(await opensAll(masterKeyInFile(scratch.file('master.key')))).toBe(HOSTS);
});

it('never wrote a secret', async () => {
  const written = outputs.join('');
  expect(written).not.toContain(token.pin);
  for (const name of ['master.key', 'next.key']) {
    expect(written).not.toContain((await readFile(scratch.file(name), 'utf8')).trim());
  }
});
