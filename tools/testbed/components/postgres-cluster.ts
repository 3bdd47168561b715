import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TestbedError, messageOf } from '../errors.js';
import type { PostgresPrograms } from './postgres-programs.js';

/** Makes the cluster in `dataDir/pgdata` unless it is there. A half-made one is never used: it gets its name when complete. */
export async function initialise(
  programs: PostgresPrograms,
  dataDir: string,
  password: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const target = join(dataDir, 'pgdata');
  if (await stat(target).catch(() => undefined)) return;
  const temporary = join(dataDir, 'pgdata.new');
  const passwordFile = join(dataDir, 'initdb-password');
  await rm(temporary, { recursive: true, force: true });
  await mkdir(temporary, { mode: 0o700 });
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (programs.user)
    for (const path of [temporary, passwordFile]) await chown(path, programs.user.uid, programs.user.gid);
  try {
    const args = ['--pgdata', temporary, '--username=postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
    // The built-in provider sorts alike everywhere, whatever locales the machine has.
    args.push('--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--no-sync');
    const env = { ...process.env, LC_ALL: 'C' };
    await promisify(execFile)(programs.initdb, args, {
      cwd: '/',
      env,
      ...programs.user,
      ...(signal ? { signal } : {}),
    });
  } catch (cause) {
    signal?.throwIfAborted();
    throw new TestbedError(`initdb failed: ${messageOf(cause)}`, { cause });
  } finally {
    await rm(passwordFile, { force: true });
  }
  await rename(temporary, target);
}

/** The superuser's password of a data directory, made the first time; the file is 0600 and no process argument carries it. */
export async function readPassword(dataDir: string): Promise<string> {
  const path = join(dataDir, 'password');
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const password = randomBytes(24).toString('base64url');
  await writeFile(path, password, { mode: 0o600 });
  return password;
}
