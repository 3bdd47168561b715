import { readdir, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { findBinary, type FindOptions } from '../binaries/find-binary.js';
import { packagedPrograms } from '../components/postgres-programs.js';
import type { ImageSpec } from './image-archive.js';
import { programImage } from './images.js';

const POSTGRES = 'usr/lib/postgresql';
/** As the official image: it makes a cluster where there is none, and passes its arguments on. */
const ENTRYPOINT = `#!/bin/sh
set -e
export PATH=/${POSTGRES}/bin:$PATH
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  initdb -D "$PGDATA" -U postgres --pwfile="$POSTGRES_PASSWORD_FILE" --auth=scram-sha-256 --encoding=UTF8 --locale=C
fi
exec postgres -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/var/run/postgresql "$@"
`;

/** Of Postgres' tools, the one that health checks ask. By the kernel's table: nothing is written to the server's log. */
const IS_READY = `#!/bin/sh
exec grep -q ':1538 00000000:0000 0A' /proc/net/tcp
`;

export const NATS_IMAGE = 'localhost/nats:1';
export const POSTGRES_IMAGE = 'localhost/postgres:1';
/** Who Postgres is in its image. */
export const POSTGRES_USER = 999;

/** Stand-ins for the official images of nats-server and Postgres, for pods that bring both. What differs in upstream's entrypoints is not tested by them. */
export async function serverImages(options: FindOptions = {}): Promise<ImageSpec[]> {
  const nats = await findBinary('nats-server', options);
  const { postgres, initdb } = await packagedPrograms();
  const native = dirname(dirname(postgres));
  const passwd = `root:x:0:0:root:/:/bin/sh\npostgres:x:${POSTGRES_USER}:${POSTGRES_USER}::/:/bin/sh\n`;
  return [
    await programImage({
      name: NATS_IMAGE,
      files: {},
      programs: { 'usr/local/bin/nats-server': nats.path },
      entrypoint: ['/usr/local/bin/nats-server'],
    }),
    await programImage({
      name: POSTGRES_IMAGE,
      files: await filesBelow(native, POSTGRES),
      programs: { [`${POSTGRES}/bin/postgres`]: postgres, [`${POSTGRES}/bin/initdb`]: initdb },
      texts: { 'etc/passwd': passwd, 'etc/entrypoint': ENTRYPOINT, 'usr/local/bin/pg_isready': IS_READY },
      entrypoint: ['/bin/sh', '/etc/entrypoint'],
      user: `${POSTGRES_USER}:${POSTGRES_USER}`,
    }),
  ];
}

/** All files of a folder, by where they are in an image. Links become what they lead to. */
export async function filesBelow(folder: string, at: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files: Record<string, string> = {};
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.name.endsWith('.a') && (await stat(path)).isFile()) files[join(at, relative(folder, path))] = path;
  }
  return files;
}
