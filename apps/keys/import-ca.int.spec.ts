import 'reflect-metadata';
import { execFile } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { KEYS_ENTITIES, KEYS_MIGRATIONS } from '@fairlead/keys';
import { silentLogger } from '@fairlead/observability';
import { connectDatabase, createDatabase, databaseUrl, provisionDatabase } from '@fairlead/persistence';
import { spkiPin } from '@fairlead/pki';
import { startPostgres, type PostgresInfo, type Running } from '@fairlead/testbed';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { ForeignCa } from './testing/foreign-ca.js';

vi.setConfig({ testTimeout: 180_000 });

const run = promisify(execFile);
const main = fileURLToPath(new URL('dist/bundle/main.js', import.meta.url));
const account = { service: 'keys', password: randomBytes(16).toString('hex') };
const password = 'a password with blanks';

let scratch: ScratchDir;
let foreign: ForeignCa;
let postgres: Running<PostgresInfo>;
let url: string;
const outputs: string[] = [];

interface Outcome {
  readonly code: number;
  readonly output: string;
}

beforeAll(async () => {
  scratch = await scratchDir();
  foreign = new ForeignCa(scratch);
  postgres = await startPostgres({ dataDir: scratch.file('pg'), durable: false, log: () => undefined });
  await provisionDatabase(postgres.info.adminUrl, { services: [account] });
  url = databaseUrl(postgres.info.adminUrl, account);
  for (const [name, text] of [
    ['url', url],
    ['seed', 'unused'],
    ['password', password],
  ] as const) {
    await writeFile(scratch.file(name), text, { mode: 0o600 });
  }
});
afterAll(async () => {
  await postgres?.stop();
  await scratch?.[Symbol.asyncDispose]();
});

const keys = (...args: string[]): Promise<Outcome> => keysWith({}, ...args);

async function keysWith(overrides: NodeJS.ProcessEnv, ...args: string[]): Promise<Outcome> {
  const env = {
    PATH: process.env['PATH'],
    FAIRLEAD_NATS_URL: 'nats://127.0.0.1:1',
    FAIRLEAD_NATS_SEED_FILE: scratch.file('seed'),
    FAIRLEAD_DATABASE_URL_FILE: scratch.file('url'),
    FAIRLEAD_MASTER_KEY_FILE: scratch.file('master.key'),
    FAIRLEAD_TRUST_DOMAIN: 'fairlead.corp.example',
    ...overrides,
  };
  const result = await run(process.execPath, [main, ...args], { env, timeout: 120_000 }).then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
    (error: { code: number; stdout: string; stderr: string }) => ({
      code: error.code,
      output: error.stdout + error.stderr,
    }),
  );
  outputs.push(result.output);
  return result;
}

async function authorities(): Promise<string[]> {
  const schema = { service: 'keys', entities: KEYS_ENTITIES, migrations: KEYS_MIGRATIONS };
  const database = createDatabase({ ...schema, url, logger: silentLogger });
  await connectDatabase(database, silentLogger);
  try {
    const rows = (await database.query(
      `select kind || ' ' || state || ' ' || (case when sealed_key is null then 'offline' else 'sealed' end) as line
       from authorities order by kind, state`,
    )) as { line: string }[];
    return rows.map(({ line }) => line);
  } finally {
    await database.destroy();
  }
}

const file = (name: string): string => scratch.file(name);

it('says in one line what is missing or wrong', async () => {
  await foreign.makeRoot('corp', ['rsa:3072']);
  await foreign.makeIssuing('corp', 'first');
  const given = ['import-ca', '--root', file('corp.pem'), '--issuing', file('first.pem'), '--key', file('first.key')];
  expect(await keys(...given)).toMatchObject({ code: 2, output: expect.stringContaining('fairlead-keys migrate') });
  expect(await keys('migrate')).toMatchObject({ code: 0 });
  const cases: [string[], string][] = [
    [['import-ca', '--root', file('corp.pem')], 'usage: import-ca'],
    [['import-ca', '--password', 'x'], 'usage: import-ca'],
    [[...given.slice(0, 5), '--key', file('none.key')], 'no such file'],
    [[...given.slice(0, 5), '--key', file('corp.key')], 'it is not the key of its certificate'],
    [given.slice(0, 5), 'it is missing, and the certificate is not for a key that'],
    [[...given, '--root-key', file('corp.key')], 'leave it out, and the root is offline'],
  ];
  for (const [args, message] of cases) {
    expect(await keys(...args)).toMatchObject({ code: 2, output: expect.stringContaining(message) });
  }
  await chmod(file('first.key'), 0o644);
  expect(await keys(...given)).toMatchObject({ code: 2, output: expect.stringContaining('chmod 600') });
  await chmod(file('first.key'), 0o600);
  expect(await authorities()).toEqual([]);
});

it('takes no root of others for the trust domain that everybody has, neither at first nor later', async () => {
  const given = ['import-ca', '--root', file('corp.pem'), '--issuing', file('first.pem'), '--key', file('first.key')];
  const refused = { code: 2, output: expect.stringContaining("FAIRLEAD_TRUST_DOMAIN: fairlead.local is everybody's") };
  for (const FAIRLEAD_TRUST_DOMAIN of [undefined, 'fairlead.local']) {
    expect(await keysWith({ FAIRLEAD_TRUST_DOMAIN }, ...given)).toMatchObject(refused);
  }
  expect(await authorities()).toEqual([]);
});

it('begins an installation with a root of RSA that stays offline, and an issuing CA on P-384', async () => {
  const given = ['import-ca', '--root', file('corp.pem'), '--issuing', file('first.pem'), '--key', file('first.key')];
  expect(await keys(...given)).toMatchObject({ code: 0, output: expect.stringContaining('"as":"first"') });
  expect(await keys(...given)).toMatchObject({ code: 0, output: expect.stringContaining('"as":"unchanged"') });
  expect(await authorities()).toEqual([
    'identity-issuing active sealed',
    'identity-root active offline',
    'serving-issuing active sealed',
    'serving-root active sealed',
  ]);
});

it('asks for the next issuing CA below an offline root, whose key never leaves', async () => {
  expect(await keys('issuing-csr', '--out', file('second.csr'))).toMatchObject({ code: 0 });
  expect(await keys('issuing-csr', '--out', file('second.csr'))).toMatchObject({ code: 2 });
  await foreign.signIssuing('corp', 'second');
  const imported = await keys('import-ca', '--root', file('corp.pem'), '--issuing', file('second.pem'));
  expect(imported).toMatchObject({ code: 0, output: expect.stringContaining('"as":"issuing"') });
  expect((await authorities()).filter((line) => line.startsWith('identity-issuing'))).toEqual([
    'identity-issuing active sealed',
    'identity-issuing retired offline',
  ]);
});

it('takes the next root from PKCS#12, with the certificate of its key by the offline one', async () => {
  await foreign.makeRoot('fresh', ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256']);
  await foreign.makeIssuing('fresh', 'third');
  await foreign.pack('fresh', 'third', password);
  const given = ['import-ca', '--pkcs12', file('third.p12'), '--password-file', file('password')];
  expect(await keys(...given)).toMatchObject({ code: 2, output: expect.stringContaining('--cross') });
  await foreign.crossSign('corp', 'fresh');
  const FAIRLEAD_TRUST_DOMAIN = 'fairlead.local';
  expect(await keysWith({ FAIRLEAD_TRUST_DOMAIN }, ...given, '--cross', file('cross.pem'))).toMatchObject({
    code: 2,
    output: expect.stringContaining('FAIRLEAD_TRUST_DOMAIN'),
  });
  const imported = await keys(...given, '--cross', file('cross.pem'));
  const pin = spkiPin(await readFile(file('fresh.pem'), 'utf8'));
  expect(imported).toMatchObject({ code: 0, output: expect.stringContaining(`"as":"next","pin":"${pin}"`) });
  expect(await keys(...given, '--cross', file('cross.pem'))).toMatchObject({ code: 1 });
  await writeFile(file('password'), 'another one', { mode: 0o600 });
  expect(await keys(...given)).toMatchObject({
    code: 2,
    output: expect.stringContaining('the password is another one'),
  });
});

it('raises the version of the trust bundle, not in a rotation', async () => {
  expect(await keys('raise-trust')).toMatchObject({ code: 2, output: expect.stringContaining('usage: raise-trust') });
  expect(await keys('raise-trust', '--by', '0')).toMatchObject({
    code: 2,
    output: expect.stringContaining('a whole number'),
  });
  expect(await keys('raise-trust', '--by', '5')).toMatchObject({ code: 1, output: expect.stringContaining('rotated') });
});

it('rotates the root of what people see beside it, step by step', async () => {
  const usage = { code: 2, output: expect.stringContaining('usage: rotate-serving-root status|prepare') };
  expect(await keys('rotate-serving-root')).toMatchObject(usage);
  expect(await keys('rotate-serving-root', 'turn')).toMatchObject(usage);
  expect(await keys('rotate-serving-root', 'activate')).toMatchObject({ code: 1 });
  expect(await keys('rotate-serving-root', 'prepare')).toMatchObject({
    code: 0,
    output: expect.stringMatching(/"roots":\[\{"state":"(active|next)".*"state":"(active|next)"/),
  });
});

it('takes the master key from a file or from the environment; of both, one has to be chosen', async () => {
  const FAIRLEAD_MASTER_KEY = (await readFile(file('master.key'), 'utf8')).trim();
  const both = await keysWith({ FAIRLEAD_MASTER_KEY }, 'issuing-csr', '--out', file('given.csr'));
  expect(both).toMatchObject({ code: 2, output: expect.stringContaining('FAIRLEAD_SEAL_WITH has to say') });
  const chosen = await keysWith({ FAIRLEAD_MASTER_KEY, FAIRLEAD_SEAL_WITH: 'given' }, 'rewrap-master-key', '--status');
  expect(chosen).toMatchObject({ code: 0, output: expect.stringContaining('"left":0') });
  const given = { FAIRLEAD_MASTER_KEY, FAIRLEAD_MASTER_KEY_FILE: undefined };
  expect(await keysWith(given, 'issuing-csr', '--out', file('given.csr'))).toMatchObject({ code: 0 });
});

it('never wrote a secret', async () => {
  const written = outputs.join('\n');
  expect(written).not.toContain('PRIVATE KEY');
  expect(written).not.toContain(password);
  for (const name of ['first.key', 'third.key', 'master.key']) {
    const [, line = ''] = (await readFile(file(name), 'utf8')).split('\n');
    expect(line === '' || !written.includes(line)).toBe(true);
  }
});
