import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { silentLogger } from '@fairlead/observability';
import { startPostgres, type PostgresInfo, type Running } from '@fairlead/testbed';
import {
  eventually,
  scratchDir,
  testAuthority,
  writeServerFiles,
  type ScratchDir,
  type ServerFiles,
} from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectDatabase, createDatabase, databaseAccess, databaseUrl, provisionDatabase } from './index.js';
import { databaseConnection, type DatabaseServer } from './database-server.js';

const keys = { service: 'keys', password: 'a-password-of-24-bytes-x' };
const registration = { service: 'registration', password: 'another-password-of-24-b' };

let scratch: ScratchDir;
let files: ServerFiles;
let otherCaFile: string;
let secured: Running<PostgresInfo>;
let plain: Running<PostgresInfo>;

beforeAll(async () => {
  scratch = await scratchDir();
  files = await writeServerFiles(await testAuthority(), scratch.file('right'));
  otherCaFile = (await writeServerFiles(await testAuthority(), scratch.file('wrong'))).caFile;
  const common = { durable: false, log: () => undefined };
  const accessConfig = databaseAccess({ services: ['keys', 'registration'] });
  secured = await startPostgres({ ...common, dataDir: scratch.file('secured'), tls: files, accessConfig });
  plain = await startPostgres({ ...common, dataDir: scratch.file('plain') });
  const services = [keys, registration];
  await provisionDatabase(secured.info.adminUrl, { services, caFile: files.caFile });
  await provisionDatabase(plain.info.adminUrl, { services });
});
afterAll(async () => {
  await secured?.stop();
  await plain?.stop();
  await scratch?.[Symbol.asyncDispose]();
});

function open(account: typeof keys, server: DatabaseServer): ReturnType<typeof createDatabase> {
  const schema = { service: account.service, entities: [], migrations: [] };
  const database = createDatabase({ ...server, ...schema, logger: silentLogger });
  // Why it is refused is asked here, which a handshake that takes too long on a busy machine would hide.
  return database.setOptions({ connectTimeoutMS: 30_000 });
}

const securedUrl = (account = keys): string => databaseUrl(secured.info.adminUrl, account);
const withoutMode = (url: string): string => url.replace('?sslmode=verify-full', '');

/** What is logged about the first attempt, which must not succeed. */
async function refusal(server: DatabaseServer): Promise<string> {
  const giveUp = new AbortController();
  const reasons: string[] = [];
  const warn = (_event: string, fields?: { reason?: unknown }): void => {
    reasons.push(String(fields?.reason));
    giveUp.abort(new Error('refused, as it should be'));
  };
  const database = open(keys, server);
  const connecting = connectDatabase(database, { ...silentLogger, warn }, giveUp.signal);
  try {
    await expect(connecting).rejects.toThrow('refused, as it should be');
  } finally {
    if (database.isInitialized) await database.destroy();
  }
  return reasons[0] ?? '';
}

/** Into the same files, which the user that Postgres runs as owns. */
function reloadWith({ certFile, keyFile }: ServerFiles): void {
  writeFileSync(scratch.file('secured', 'tls', 'server.crt'), readFileSync(certFile));
  writeFileSync(scratch.file('secured', 'tls', 'server.key'), readFileSync(keyFile));
  secured.kill('SIGHUP');
}

describe('a Postgres with TLS', () => {
  it('is spoken to by TLS 1.3, with the CA that its certificate is from', async () => {
    for (const url of [securedUrl(), withoutMode(securedUrl()), securedUrl().replace('127.0.0.1', 'localhost')]) {
      const database = open(keys, { url, caFile: files.caFile });
      await connectDatabase(database, silentLogger, AbortSignal.timeout(20_000));
      const rows: unknown = await database.query('select ssl, version from pg_stat_ssl where pid = pg_backend_pid()');
      expect(rows).toEqual([{ ssl: true, version: 'TLSv1.3' }]);
      await database.destroy();
    }
  });

  it('is refused with another CA', async () => {
    const reason = await refusal({ url: securedUrl(), caFile: otherCaFile });
    expect(reason).toMatch(/^the server is not trusted: its certificate is not from the CA/);
  });

  it('is refused with the CAs of the system, if nothing names another', async () => {
    expect(await refusal({ url: securedUrl() })).toMatch(/^the server is not trusted/);
  });

  it('is refused under a name that its certificate is not for', async () => {
    // The system's resolver takes this for 127.0.0.1; in the certificate it is not.
    const reason = await refusal({ url: securedUrl().replace('127.0.0.1', '127.1'), caFile: files.caFile });
    expect(reason).toContain('its certificate is for other names');
  });

  it('shows a renewed certificate after a reload, to clients that learnt of its new CA meanwhile', async () => {
    const caFile = scratch.file('trusted.crt');
    writeFileSync(caFile, readFileSync(files.caFile));
    const database = open(keys, { url: securedUrl(), caFile });
    await connectDatabase(database, silentLogger, AbortSignal.timeout(20_000));
    const next = await writeServerFiles(await testAuthority(), scratch.file('next'));
    appendFileSync(caFile, readFileSync(next.caFile));
    reloadWith(next);
    await eventually(async () =>
      expect(await refusal({ url: securedUrl(), caFile: files.caFile })).toContain('not trusted'),
    );
    const pool = Array.from({ length: 5 }, () => database.query('select pg_sleep(0.1)'));
    await expect(Promise.all(pool)).resolves.toHaveLength(5);
    await database.destroy();
    reloadWith(files);
    const back = open(keys, { url: securedUrl(), caFile: files.caFile });
    await connectDatabase(back, silentLogger, AbortSignal.timeout(20_000));
    await back.destroy();
  });

  it('refuses who speaks plain text, whatever the password', async () => {
    const reason = await refusal({ url: withoutMode(securedUrl()) });
    expect(reason).toMatch(/pg_hba\.conf.*no encryption/);
  });
});

describe('a Postgres without TLS', () => {
  it('is refused where a CA is configured', async () => {
    const url = databaseUrl(plain.info.adminUrl, keys);
    expect(await refusal({ url, caFile: files.caFile })).toBe('The server does not support SSL connections');
  });

  it('is not spoken to elsewhere unless a setting says so', () => {
    const url = 'postgres://keys:x@db.example.com/fairlead';
    expect(() => databaseConnection({ url })).toThrow(
      /refusing to speak plain text to db.example.com.*DATABASE_CA_FILE/,
    );
    expect(databaseConnection({ url, insecurePlaintext: true })).toEqual({ url, ssl: false });
  });
});

describe('a database URL', () => {
  const base = 'postgres://keys:secret@127.0.0.1:5432/fairlead';

  it.each(['disable', 'allow', 'prefer', 'require', 'verify-ca', 'no-verify', ''])(
    'cannot weaken a CA file by sslmode=%s',
    (mode) => {
      const url = `${base}?sslmode=${mode}`;
      expect(() => databaseConnection({ url, caFile: files.caFile })).toThrow(/^the database URL is refused: sslmode=/);
    },
  );

  it.each([
    'ssl=0',
    'ssl=no-verify',
    'sslrootcert=/x',
    'sslcert=/x',
    'sslkey=/x',
    'uselibpqcompat=true',
    'host=x',
    'port=1',
  ])('cannot say %s above the settings', (parameter) => {
    const refused = expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      message: expect.not.stringContaining('secret') as string,
    });
    expect(() => databaseConnection({ url: `${base}?${parameter}` })).toThrow(refused as Error);
  });

  it('keeps the rest of its parameters', () => {
    const { url, ssl } = databaseConnection({ url: `${base}?sslmode=verify-full&connect_timeout=3` });
    expect(url).toBe(`${base}?connect_timeout=3`);
    expect(ssl).toMatchObject({ rejectUnauthorized: true, minVersion: 'TLSv1.3' });
  });
});

describe('the role of one service', () => {
  it("cannot read, change or become another's", async () => {
    const owner = open(keys, { url: securedUrl(), caFile: files.caFile });
    const other = open(registration, { url: securedUrl(registration), caFile: files.caFile });
    await connectDatabase(owner, silentLogger, AbortSignal.timeout(20_000));
    await connectDatabase(other, silentLogger, AbortSignal.timeout(20_000));
    await owner.query('create table keys.authorities (id int)');
    for (const statement of [
      'select * from keys.authorities',
      'insert into keys.authorities values (1)',
      'create table keys.mine (id int)',
      'create table public.mine (id int)',
      'create schema mine',
      'create role mine',
      'create database mine',
      'set role keys',
      'set role postgres',
      'set session authorization keys',
      'alter role keys password null',
      'drop schema keys cascade',
      "select pg_read_file('pg_hba.conf')",
      "copy (select 1) to program 'true'",
    ]) {
      const refused = other.query(statement).then(
        () => 'it may',
        (error: { code?: string }) => error.code,
      );
      expect({ statement, code: await refused }).toEqual({ statement, code: '42501' });
    }
    await Promise.all([owner.destroy(), other.destroy()]);
  });

  it('is admitted to no other database', async () => {
    const url = securedUrl().replace('/fairlead', '/postgres');
    expect(await refusal({ url, caFile: files.caFile })).toMatch(/no pg_hba\.conf entry .* database "postgres"/);
  });
});
