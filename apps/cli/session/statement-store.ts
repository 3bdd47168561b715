import { createHash } from 'node:crypto';
import { mkdir, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod/mini';
import { writePrivateFile, type Login } from './login-store.js';
import { parseJson } from './parse-json.js';

/** What the server said last when it was asked for a statement: no secret, and worth nothing without the token that it goes with. */
const KeptStatement = z.object({
  version: z.literal(1),
  server: z.url(),
  cluster: z.string().check(z.minLength(1)),
  /** Of the token: one that was renewed needs a statement of its own. */
  tokenDigest: z.string(),
  askedAt: z.iso.datetime(),
  /** Absent: there was none to be had. */
  statement: z.optional(z.string().check(z.minLength(1))),
  openUntil: z.optional(z.iso.datetime()),
  /** The server could not be asked, and is not before this. */
  retryAt: z.optional(z.iso.datetime()),
});
export type KeptStatement = Omit<z.infer<typeof KeptStatement>, 'version' | 'server' | 'cluster' | 'tokenDigest'>;

const FOLDER = 'statements';
/** Two for each cluster. Of more, those that were written longest ago go: they are fetched again. */
const MAX_FILES = 1_000;

/** What is kept for this login and cluster; undefined also for what cannot be read, which is as good as nothing. */
export async function findStatement(home: string, login: Login, cluster: string): Promise<KeptStatement | undefined> {
  const text = await readFile(pathOf(home, login, cluster), 'utf8').catch(() => '');
  const parsed = KeptStatement.safeParse(parseJson(text));
  if (!parsed.success) return undefined;
  const { version: _version, server, cluster: of, tokenDigest, ...kept } = parsed.data;
  return server === login.server && of === cluster && tokenDigest === digestOf(login.token) ? kept : undefined;
}

/** Keeps it for its owner only, in the place of what was kept before. */
export async function keepStatement(home: string, login: Login, cluster: string, kept: KeptStatement): Promise<void> {
  await mkdir(join(home, FOLDER), { recursive: true, mode: 0o700 });
  const { server, token } = login;
  const stored = KeptStatement.parse({ version: 1, server, cluster, tokenDigest: digestOf(token), ...kept });
  await writePrivateFile(pathOf(home, login, cluster), `${JSON.stringify(stored)}\n`);
  await forgetOldest(join(home, FOLDER));
}

/** Forgets all of them. */
export async function removeStatements(home: string): Promise<void> {
  await rm(join(home, FOLDER), { recursive: true, force: true });
}

/**
 * Notes which process is told what is kept, and says whether it was that process the last time, too: client-go asks again before its answer has ended only if a
 * door refused what it was told.
 */
export async function noteAsker(home: string, login: Login, cluster: string, pid: number): Promise<'again' | 'first'> {
  const path = `${pathOf(home, login, cluster)}.asker`;
  const before = await readFile(path, 'utf8').catch(() => '');
  if (before === String(pid)) return 'again';
  // Half of it, or nothing, is another process: then one is asked for too early, and nothing is lost.
  await mkdir(join(home, FOLDER), { recursive: true, mode: 0o700 });
  await writeFile(path, String(pid), { mode: 0o600 });
  return 'first';
}

async function forgetOldest(folder: string): Promise<void> {
  const names = await readdir(folder);
  if (names.length <= MAX_FILES) return;
  const written = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      // Another process may have been at it first.
      const atMs = await stat(path).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      );
      return { path, atMs };
    }),
  );
  const oldest = written.sort((one, other) => one.atMs - other.atMs).slice(0, names.length - MAX_FILES);
  await Promise.all(oldest.map(({ path }) => rm(path, { force: true })));
}

/** One file for each cluster of an installation, whatever its name. */
function pathOf(home: string, { server }: Login, cluster: string): string {
  return join(home, FOLDER, `${digestOf(`${server} ${cluster}`)}.json`);
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
