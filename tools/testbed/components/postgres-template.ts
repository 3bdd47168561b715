import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { initdb, randomPassword, type PostgresTemplate } from './postgres-cluster.js';
import { openTheWay, type PostgresPrograms } from './postgres-programs.js';

/** Names the folder that keeps templates. Whoever sets it wants all clusters that are made meanwhile to have the same password. */
const VARIABLE = 'FAIRLEAD_TESTBED_TEMPLATES';

/** The one for these programs, made by whoever asks first; undefined where no folder is named. */
export async function templateFor(
  programs: PostgresPrograms,
  signal: AbortSignal | undefined,
): Promise<PostgresTemplate | undefined> {
  const folder = process.env[VARIABLE];
  if (folder === undefined) return undefined;
  const template = join(folder, `postgres-${programs.version}-${programs.user?.uid ?? 'own'}`);
  const made = await read(template);
  if (made) return made;
  await mkdir(folder, { recursive: true, mode: 0o711 });
  return make(folder, template, programs, signal);
}

async function read(template: string): Promise<PostgresTemplate | undefined> {
  try {
    return { pgdata: join(template, 'pgdata'), password: await readFile(join(template, 'password'), 'utf8') };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Under a name of its own until it is complete: others may make one at the same time, and the first counts. */
async function make(
  folder: string,
  template: string,
  programs: PostgresPrograms,
  signal: AbortSignal | undefined,
): Promise<PostgresTemplate | undefined> {
  const own = await mkdtemp(join(folder, 'new-'));
  try {
    if (programs.user) await openTheWay(own);
    const password = randomPassword();
    await initdb(join(own, 'pgdata'), programs, password, signal);
    await writeFile(join(own, 'password'), password, { mode: 0o600 });
    await rename(own, template).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(own, { recursive: true, force: true });
  }
  return read(template);
}
