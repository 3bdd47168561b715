import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { scratchDir } from '@fairlead/testing';
import { CLUSTER, type World } from './world.js';

const run = promisify(execFile);
const NAME = 'Committer';
const MAIL = 'committer@fairlead.invalid';
const PATIENCE_MS = 60_000;

/** Somebody with a clone of the catalog repository and an OpenPGP key. */
export interface Committer extends AsyncDisposable {
  /** Armoured. */
  readonly publicKey: string;
  /** Writes a file of the demo cluster's folder and pushes it, with `force` in the place of the newest commit. */
  push(file: string, text: string, how: { readonly signed: boolean; readonly force?: boolean }): Promise<void>;
}

/** Clones the repository as the Git host's administrator. */
export async function startCommitter({ gitea }: Pick<World, 'gitea'>): Promise<Committer> {
  await using parts = new AsyncDisposableStack();
  const scratch = parts.use(await scratchDir());
  const home = join(scratch.path, 'gnupg');
  await mkdir(home, { mode: 0o700 });
  // Whatever this user has configured for Git is not ours; the token is in no argument and in no variable.
  const config = join(scratch.path, 'gitconfig');
  const caFile = join(scratch.path, 'ca.pem');
  await writeFile(caFile, gitea.info.caPem);
  await writeFile(config, configOf(caFile, gitea.info.adminToken), { mode: 0o600 });
  const { PATH } = process.env;
  const env = { PATH, HOME: scratch.path, GNUPGHOME: home, GIT_CONFIG_GLOBAL: config, GIT_CONFIG_NOSYSTEM: '1' };
  const call = async (program: string, ...args: string[]): Promise<string> =>
    (await run(program, args, { env, cwd: scratch.path, timeout: PATIENCE_MS })).stdout;
  parts.defer(async () => void (await call('gpgconf', '--kill', 'all')));
  await call('gpg', '--batch', '--passphrase', '', '--quick-gen-key', `${NAME} <${MAIL}>`, 'rsa3072', 'sign', '1d');
  const publicKey = await call('gpg', '--armor', '--export', MAIL);
  await call('git', 'clone', '-q', `${gitea.info.url}/platform/catalog.git`, 'catalog');
  const git = (...args: string[]): Promise<string> => call('git', '-C', 'catalog', ...args);
  const all = parts.move();
  return {
    publicKey,
    async push(file, text, { signed, force = false }) {
      await git('fetch', '-q');
      await git('reset', '-q', '--hard', force ? 'origin/main~1' : 'origin/main');
      const path = join('clusters', CLUSTER, file);
      await writeFile(join(scratch.path, 'catalog', path), text);
      await git('add', path);
      await git('commit', '-q', '-m', `Change ${file}`, signed ? '-S' : '--no-gpg-sign');
      await git('push', '-q', ...(force ? ['--force'] : []), 'origin', 'HEAD:main');
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

function configOf(caFile: string, token: string): string {
  return [
    `[http]\n\tsslCAInfo = ${caFile}\n\textraHeader = "Authorization: token ${token}"`,
    `[user]\n\tname = ${NAME}\n\temail = ${MAIL}\n\tsigningKey = ${MAIL}\n`,
  ].join('\n');
}
