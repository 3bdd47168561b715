import { chmod, chown, copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PostgresOptions } from './contract.js';

const EVERYBODY_WITH_A_PASSWORD = 'local all all scram-sha-256\nhostssl all all all scram-sha-256\n';

/**
 * Copies what the server needs for TLS into `dir`, where only `user` reads it: Postgres refuses a key that belongs to somebody
 * else. Without TLS, removes what an earlier start left there.
 */
export async function placeTlsFiles(
  dir: string,
  { tls, accessConfig }: Pick<PostgresOptions, 'tls' | 'accessConfig'>,
  user: { readonly uid: number; readonly gid: number } | undefined,
): Promise<void> {
  await rm(dir, { recursive: true, force: true });
  if (!tls) return;
  await mkdir(dir, { mode: 0o700 });
  const inside = (name: string): string => join(dir, name);
  await copyFile(tls.certFile, inside('server.crt'));
  await copyFile(tls.keyFile, inside('server.key'));
  await chmod(inside('server.key'), 0o600);
  await writeFile(inside('pg_hba.conf'), accessConfig ?? EVERYBODY_WITH_A_PASSWORD, { mode: 0o600 });
  if (!user) return;
  for (const path of [...['server.crt', 'server.key', 'pg_hba.conf'].map(inside), dir]) {
    await chown(path, user.uid, user.gid);
  }
}

/** The server's settings, with the files where the server sees them. */
export function tlsSettings(dir: string): string[] {
  return [
    'ssl=on',
    'ssl_min_protocol_version=TLSv1.3',
    `ssl_cert_file=${join(dir, 'server.crt')}`,
    `ssl_key_file=${join(dir, 'server.key')}`,
    `hba_file=${join(dir, 'pg_hba.conf')}`,
  ];
}
