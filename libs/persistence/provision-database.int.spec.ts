import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { FairleadError } from '@fairlead/errors';
import { startPostgres, type PostgresInfo, type Running } from '@fairlead/testbed';
import { scratchDir, testAuthority, writeServerFiles, type ScratchDir, type ServerFiles } from '@fairlead/testing';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { databaseConnection } from './database-server.js';
import { provisionDatabase, type ProvisionDatabaseOptions } from './provision-database.js';

const keys = { service: 'keys', password: 'a-password-of-24-bytes-x' };
const registration = { service: 'registration', password: 'another-password-of-24-b' };

let scratch: ScratchDir;
let files: ServerFiles;
let postgres: Running<PostgresInfo>;
const listening: Server[] = [];

beforeAll(async () => {
  scratch = await scratchDir();
  files = await writeServerFiles(await testAuthority(), scratch.file('tls'));
  postgres = await startPostgres({ dataDir: scratch.file('pg'), durable: false, tls: files, log: () => undefined });
});
afterEach(() => {
  for (const server of listening.splice(0)) server.close();
});
afterAll(async () => {
  await postgres?.stop();
  await scratch?.[Symbol.asyncDispose]();
});

async function listen(server: Server): Promise<number> {
  listening.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

interface Forward {
  readonly port: number;
  /** Connections that it took. */
  taken(): number;
  /** Bytes that Postgres sent through it. */
  bytes(): number;
}

interface ForwardOptions {
  /** Further connections are reset. */
  readonly most?: number;
  /** Told how much Postgres has sent, and over which connection the latest of it came. */
  readonly onData?: (bytes: number, connection: number, cut: { all(): void; one(connection: number): void }) => void;
}

/** A way to Postgres that ends whole as soon as one connection in it does: so does that of kubectl, if the end is a reset. */
async function forward({ most = Number.POSITIVE_INFINITY, onData }: ForwardOptions = {}): Promise<Forward> {
  const pairs: (readonly Socket[])[] = [];
  let bytes = 0;
  let isDeaf = false;
  const reset = (sockets: readonly Socket[]): void => sockets.forEach((socket) => socket.resetAndDestroy());
  const all = (): void => {
    server.close();
    pairs.forEach(reset);
  };
  const one = (connection: number): void => {
    isDeaf = true;
    reset(pairs[connection] ?? []);
  };
  const server = createServer((near) => {
    near.on('error', () => undefined);
    if (pairs.length === most) {
      near.resetAndDestroy();
      return;
    }
    const far = connect({ host: '127.0.0.1', port: postgres.info.port }).on('error', () => undefined);
    const connection = pairs.push([near, far]) - 1;
    far.on('data', (piece) => onData?.((bytes += piece.length), connection, { all, one }));
    for (const socket of [near, far]) socket.on('close', () => isDeaf || all());
    near.pipe(far).pipe(near);
  });
  return { port: await listen(server), taken: () => pairs.length, bytes: () => bytes };
}

/** The administrator's URL, by another port and for another database. */
function adminUrl(port: number, database = 'postgres'): string {
  const url = new URL(postgres.info.adminUrl);
  url.port = String(port);
  url.pathname = `/${database}`;
  return url.href;
}

const provision = (url: string, more: Partial<ProvisionDatabaseOptions> = {}): Promise<void> =>
  provisionDatabase(url, { services: [keys, registration], caFile: files.caFile, ...more });

/** What somebody is told, which is one line without a password. */
async function told(provisioning: Promise<void>): Promise<{ code: string; message: string }> {
  const { code, message } = await provisioning.then(
    () => expect.fail('it was provisioned'),
    (error: FairleadError) => error,
  );
  expect(message).not.toMatch(/\n|a-password|another-password/);
  expect(message).not.toContain(new URL(postgres.info.adminUrl).password);
  return { code, message };
}

async function schemasOf(database: string): Promise<string[]> {
  const { url, ssl } = databaseConnection({ url: adminUrl(postgres.info.port, database), caFile: files.caFile });
  const client = new Client({ connectionString: url, ssl });
  await client.connect();
  const { rows } = await client.query<{ name: string }>(
    `select nspname as name from pg_namespace where nspname in ('keys', 'registration') order by 1`,
  );
  await client.end();
  return rows.map(({ name }) => name);
}

describe('through a port-forward that ends with the first connection that does', () => {
  it('makes the database, its roles and schemas', async () => {
    const way = await forward();
    await provision(adminUrl(way.port), { database: 'first' });
    expect(await schemasOf('first')).toEqual(['keys', 'registration']);
    // One to make the database, one within it.
    expect(way.taken()).toBe(2);
  });

  it('takes a single connection where the URL names the database', async () => {
    await provision(adminUrl(postgres.info.port), { database: 'second', services: [] });
    const way = await forward({ most: 1 });
    await provision(adminUrl(way.port, 'second'), { database: 'second' });
    expect(await schemasOf('second')).toEqual(['keys', 'registration']);
  });

  it('goes on when the connection that is done with is lost', async () => {
    const way = await forward({ onData: (_, connection, cut) => connection === 1 && cut.one(0) });
    await provision(adminUrl(way.port), { database: 'third' });
    expect(await schemasOf('third')).toEqual(['keys', 'registration']);
  });

  it('says so wherever it is cut off, and may then be repeated', async () => {
    const whole = await forward({ onData: () => undefined });
    await provision(adminUrl(whole.port), { database: 'fourth' });
    for (const part of [0, 0.1, 0.3, 0.5, 0.7, 0.9]) {
      const way = await forward({ onData: (bytes, _, cut) => bytes > part * whole.bytes() && cut.all() });
      const { code, message } = await told(provision(adminUrl(way.port), { database: 'fourth' }));
      expect(code).toBe('UNAVAILABLE');
      expect(message).toMatch(`cannot provision Postgres at 127.0.0.1:${way.port}: `);
      expect(message).toMatch(/; see whether it can be reached from here, and repeat: /);
    }
    await provision(adminUrl(postgres.info.port), { database: 'fourth' });
  });
});

describe('a server that is not to be had', () => {
  it('is waited for no longer than the deadline', async () => {
    const port = await listen(createServer((socket) => void socket.on('error', () => undefined)));
    expect(await told(provision(adminUrl(port), { timeoutMs: 300 }))).toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining(`127.0.0.1:${port}: it did not answer within 0.3 s; `) as string,
    });
  });

  it('is named when nothing listens', async () => {
    const port = await listen(createServer());
    listening.pop()!.close();
    expect(await told(provision(adminUrl(port)))).toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining(`127.0.0.1:${port}: connect ECONNREFUSED`) as string,
    });
  });

  it('is told from one that is not trusted, and one that refuses', async () => {
    const { caFile } = await writeServerFiles(await testAuthority(), scratch.file('other'));
    expect(await told(provision(adminUrl(postgres.info.port), { caFile }))).toMatchObject({
      code: 'UNTRUSTED_PEER',
      message: expect.stringMatching(/: the server is not trusted: .*; check the address and the CA file$/) as string,
    });
    const wrong = new URL(adminUrl(postgres.info.port));
    wrong.password = 'not-the-password';
    expect(await told(provision(wrong.href))).toMatchObject({
      code: 'INTERNAL',
      message: expect.stringContaining('it refuses: password authentication failed for user "postgres"') as string,
    });
  });
});
