import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { onFreePorts } from '../components/auto-port.js';
import type { PostgresInfo, PostgresOptions, Running } from '../components/contract.js';
import { readPassword } from '../components/postgres-cluster.js';
import { placeTlsFiles, tlsSettings } from '../components/postgres-tls.js';
import { logToStderr } from '../log.js';
import { asThisUser, runContainer } from './container.js';

const MOUNT = '/var/lib/postgresql';
/** Whom the image runs Postgres as when the container's user is root. */
const IMAGE_USER = { uid: 999, gid: 999 };

/** Postgres in a container; the cluster stays in the data directory. */
export async function startPostgresContainer(options: PostgresOptions): Promise<Running<PostgresInfo>> {
  const source = join(resolve(options.dataDir), 'container');
  await mkdir(source, { recursive: true });
  const content = await readPassword(resolve(options.dataDir));
  const tlsDir = join(source, 'tls');
  await placeTlsFiles(tlsDir, options, process.getuid?.() === 0 ? IMAGE_USER : undefined);
  const settings = options.tls ? tlsSettings(`${MOUNT}/tls`) : [];
  return onFreePorts([options.port], (ports) => {
    const [port] = ports as [number];
    return runContainer<PostgresInfo>({
      what: 'postgres',
      image: 'postgres:18',
      ports: [{ container: 5432, host: port }],
      log: options.log ?? logToStderr,
      configure: (container, { Wait }) =>
        asThisUser(container)
          .withBindMounts([{ source, target: MOUNT }])
          .withCommand(['postgres', ...settings.flatMap((setting) => ['-c', setting])])
          .withCopyContentToContainer([{ content, target: '/run/testbed-password', mode: 0o644 }])
          .withEnvironment({ PGDATA: `${MOUNT}/data`, POSTGRES_PASSWORD_FILE: '/run/testbed-password' })
          // Over TCP: the server that only initialises listens on its socket alone.
          .withWaitStrategy(Wait.forSuccessfulCommand('pg_isready -h 127.0.0.1 -U postgres')),
      connect: async (container) => ({
        adminUrl: `postgres://postgres:${content}@${container.getHost()}:${port}/postgres${options.tls ? '?sslmode=verify-full' : ''}`,
        port,
      }),
    });
  });
}
