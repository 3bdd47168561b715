import { renameSync, rmSync } from 'node:fs';
import { StackError } from '../errors.js';
import { baseEnvironment } from '../process/base-environment.js';
import { runCommand } from '../process/run-command.js';

export interface CloneOptions {
  readonly url: string;
  /** The only authority that is trusted. */
  readonly caFile: string;
  /** As `git credential-store` reads it, mode 0600: no secret is in the clone, an argument or the environment. */
  readonly credentialsFile: string;
  readonly path: string;
  readonly signal: AbortSignal;
}

const CLONE_MS = 60_000;

/** A clone that can commit and push as it stands, whatever the user's own configuration of Git says. */
export async function cloneCatalog({ url, caFile, credentialsFile, path, signal }: CloneOptions): Promise<void> {
  const temporary = `${path}.new`;
  rmSync(temporary, { recursive: true, force: true });
  const settings = [
    `http.sslCAInfo=${caFile}`,
    // Empty: no helper of the user's, which might keep the token.
    'credential.helper=',
    `credential.helper=store --file='${credentialsFile.replaceAll("'", String.raw`'\''`)}'`,
    'user.name=Demo',
    'user.email=demo@fairlead.invalid',
    'commit.gpgsign=false',
    'push.default=simple',
  ];
  const args = ['clone', '--quiet', ...settings.flatMap((setting) => ['-c', setting]), url, temporary];
  const env = { ...baseEnvironment(), GIT_TERMINAL_PROMPT: '0', GIT_CONFIG_NOSYSTEM: '1' };
  const { code, stderr } = await runCommand('git', args, { env, timeoutMs: CLONE_MS, signal });
  if (code !== 0) throw new StackError(`the catalog could not be cloned: ${stderr.trim().slice(-2_000)}`);
  renameSync(temporary, path);
}
