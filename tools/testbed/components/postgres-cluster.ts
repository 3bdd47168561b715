import { execFile, type ExecFileOptions } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { TestbedError, messageOf } from '../errors.js';
import type { PostgresPrograms } from './postgres-programs.js';

/** A cluster as initdb makes it, to be copied: half a second of computing less for each that a run of tests starts. */
export interface PostgresTemplate {
  readonly pgdata: string;
  /** Of each copy. */
  readonly password: string;
}

export interface InitialiseOptions {
  readonly programs: PostgresPrograms;
  readonly password: string;
  readonly template?: PostgresTemplate | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Makes the cluster in `dataDir/pgdata` unless it is there. A half-made one is never used: it gets its name when complete. */
export async function initialise(dataDir: string, options: InitialiseOptions): Promise<void> {
  const { programs, password, template, signal } = options;
  const target = join(dataDir, 'pgdata');
  if (await stat(target).catch(() => undefined)) return;
  const temporary = join(dataDir, 'pgdata.new');
  await rm(temporary, { recursive: true, force: true });
  if (template?.password === password) await run('cp', ['-a', template.pgdata, temporary], {}, signal);
  else await initdb(temporary, programs, password, signal);
  await rename(temporary, target);
}

/** Makes a cluster in a folder that is not there yet, owned by the user that Postgres will run as. */
export async function initdb(
  pgdata: string,
  programs: PostgresPrograms,
  password: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const passwordFile = `${pgdata}.password`;
  await mkdir(pgdata, { mode: 0o700 });
  try {
    await writeFile(passwordFile, password, { mode: 0o600 });
    if (programs.user)
      for (const path of [pgdata, passwordFile]) await chown(path, programs.user.uid, programs.user.gid);
    const args = ['--pgdata', pgdata, '--username=postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
    // The built-in provider sorts alike everywhere, whatever locales the machine has.
    args.push('--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--no-sync');
    await run(programs.initdb, args, { env: { ...process.env, LC_ALL: 'C' }, ...programs.user }, signal);
  } finally {
    await rm(passwordFile, { force: true });
  }
}

async function run(
  program: string,
  args: readonly string[],
  options: ExecFileOptions,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    await promisify(execFile)(program, args, { cwd: '/', ...options, ...(signal ? { signal } : {}) });
  } catch (cause) {
    signal?.throwIfAborted();
    throw new TestbedError(`${basename(program)} failed: ${messageOf(cause)}`, { cause });
  }
}

/**
 * The superuser's password of a data directory, made the first time unless it is given; the file is 0600 and no process argument
 * carries it.
 */
export async function readPassword(dataDir: string, given?: string): Promise<string> {
  const path = join(dataDir, 'password');
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const password = given ?? randomPassword();
  await writeFile(path, password, { mode: 0o600 });
  return password;
}

export const randomPassword = (): string => randomBytes(24).toString('base64url');
