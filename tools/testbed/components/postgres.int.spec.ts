import { execFile } from 'node:child_process';
import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { temporaryDirectory } from '../fixtures/temporary.js';
import type { PostgresInfo, Running } from './contract.js';
import { startPostgres } from './postgres.js';
import { usablePrograms } from './postgres-programs.js';
import { templateFor } from './postgres-template.js';

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

describe('postgres', () => {
  let dir: Awaited<ReturnType<typeof temporaryDirectory>>;
  let postgres: Running<PostgresInfo>;

  beforeAll(async () => {
    vi.stubEnv('FAIRLEAD_TESTBED_PROVIDERS', 'path');
    dir = await temporaryDirectory();
    postgres = await startPostgres({ dataDir: join(dir.path, 'postgres'), log: () => {} });
  });

  afterAll(async () => {
    await postgres?.stop();
    await dir[Symbol.asyncDispose]();
    vi.unstubAllEnvs();
  });

  it('listens on 127.0.0.1 only and asks for a password that no argument shows', async () => {
    const { adminUrl, port } = postgres.info;
    const url = new URL(adminUrl);
    expect(url.hostname).toBe('127.0.0.1');
    expect(url.port).toBe(String(port));
    expect(await query(adminUrl, 'show listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
    const password = join(dir.path, 'postgres', 'password');
    expect((await stat(password)).mode & 0o777).toBe(0o600);
    const commands = (await promisify(execFile)('ps', ['-Ao', 'args'])).stdout;
    expect(commands).toContain(join(dir.path, 'postgres', 'pgdata'));
    expect(commands).not.toContain(await readFile(password, 'utf8'));
    url.password = 'wrong';
    await expect(query(url.href, 'select 1')).rejects.toThrow('password authentication failed');
  });

  it('comes back after SIGKILL on the same port with its data, also while a client was connected', async () => {
    await query(postgres.info.adminUrl, 'create table kept (n int)');
    await query(postgres.info.adminUrl, 'insert into kept values (7)');
    const client = new Client({ connectionString: postgres.info.adminUrl });
    client.on('error', () => {});
    await client.connect();
    const { pid } = postgres;
    const { exited } = postgres;
    postgres.kill('SIGKILL');
    expect(await exited).toEqual({ code: null, signal: 'SIGKILL' });
    await postgres.restart();
    expect(postgres.pid).not.toBe(pid);
    expect(await query(postgres.info.adminUrl, 'select n from kept')).toEqual([{ n: 7 }]);
    await client.end().catch(() => {});
  });

  it('refuses a second server on the same data', async () => {
    const second = startPostgres({ dataDir: join(dir.path, 'postgres'), log: () => {} });
    await expect(second).rejects.toThrow(/is in use: postgres \(pid \d+\)/u);
  });

  it('keeps its data and password across stop and start', async () => {
    const { adminUrl, port } = postgres.info;
    await postgres.stop();
    await expect(query(adminUrl, 'select 1')).rejects.toThrow('ECONNREFUSED');
    postgres = await startPostgres({ dataDir: join(dir.path, 'postgres'), port, durable: false, log: () => {} });
    expect(postgres.info.adminUrl).toBe(adminUrl);
    expect(await query(adminUrl, 'select n from kept')).toEqual([{ n: 7 }]);
  });
});

it('copies what initdb made once, where a folder for that is named, whoever asks first', async () => {
  await using folder = await temporaryDirectory();
  vi.stubEnv('FAIRLEAD_TESTBED_TEMPLATES', join(folder.path, 'templates'));
  const programs = await usablePrograms(join(folder.path, 'postgres'));
  const [first, second] = await Promise.all([1, 2].map(() => templateFor(programs, undefined)));
  expect(first).toEqual(second);
  expect(await readdir(join(folder.path, 'templates'))).toHaveLength(1);
  await using postgres = await startPostgres({ dataDir: join(folder.path, 'postgres'), log: () => {} });
  expect(new URL(postgres.info.adminUrl).password).toBe(first?.password);
  expect(await query(postgres.info.adminUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
  vi.unstubAllEnvs();
});

it('points to the Postgres of DATABASE_URL, which is not ours to stop', async () => {
  vi.stubEnv('DATABASE_URL', 'postgres://someone@127.0.0.1:5499/db');
  const postgres = await startPostgres({ dataDir: '/nowhere', log: () => {} });
  expect(postgres.info).toEqual({ adminUrl: 'postgres://someone@127.0.0.1:5499/db', port: 5499 });
  expect(postgres.pid).toBeUndefined();
  await postgres.stop();
  expect(() => postgres.kill('SIGKILL')).toThrow('the testbed did not start it');
  await expect(postgres.restart()).rejects.toThrow('the testbed did not start it');
  vi.unstubAllEnvs();
});
