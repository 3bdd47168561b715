import { writeFileSync } from 'node:fs';
import { parseSshPublicKey } from '@fairlead/git-hosts';
import { FLUX_VERSION, fluxInstallManifest } from '@fairlead/testbed';
import { z } from 'zod';
import { succeed } from '../access/administrator.js';
import { StackError } from '../errors.js';
import type { StackLog } from '../events.js';
import type { CliOptions, Stack } from '../stack.js';
import type { StateDir } from '../state/state-dir.js';
import type { DemoGitHost } from './git-host.js';

export const CATALOG = 'catalog';
const GIT_HOST = 'forge';
/** A look at a Git host may take this long. */
const PATIENCE_MS = 120_000;

interface SetUpOptions {
  readonly cli: Stack['cli'];
  readonly state: StateDir;
  readonly gitHost: DemoGitHost;
  readonly log: StackLog;
  readonly signal: AbortSignal;
}

const HostKeys = z.object({ hostKeys: z.array(z.object({ fingerprint: z.string(), state: z.string() })) });

/** What an administrator does before a cluster can follow a repository, by the same commands; what is there already stays. */
export async function setUpGitOps(options: SetUpOptions): Promise<void> {
  const { gitHost, log } = options;
  const { url, sshPort } = gitHost.info;
  if (!(await names(options, 'git-host')).includes(GIT_HOST)) {
    log({ kind: 'progress', text: 'GitOps: adding the Git host, approving its SSH key' });
    const files = ['--ca-file', gitHost.caFile, '--token-file', gitHost.tokenFile];
    const where = ['--kind', 'gitea', '--url', url, '--ssh-port', String(sshPort)];
    await run(options, 'add the Git host', ['git-host', 'add', GIT_HOST, ...where, ...files]);
  }
  await approveHostKey(options);
  if (!(await names(options, 'catalog')).includes(CATALOG)) {
    const repository = ['--host', GIT_HOST, '--repo', 'platform/catalog'];
    await run(options, 'add the repository', ['catalog', 'add', CATALOG, ...repository]);
  }
  if (!(await names(options, 'bundle')).includes(FLUX_VERSION)) await importBundle(options);
}

/** Trusts the key that the Git host's own administrator sees there, if the scan saw the same. */
async function approveHostKey(options: SetUpOptions): Promise<void> {
  const shown = await run(options, 'show the Git host', ['git-host', 'show', GIT_HOST, '-o', 'json']);
  if (HostKeys.parse(JSON.parse(shown)).hostKeys.some(({ state }) => state === 'approved')) return;
  const scanned = await run(options, 'scan the Git host', ['git-host', 'scan', GIT_HOST, '-o', 'json']);
  const expected = parseSshPublicKey(options.gitHost.info.sshHostKey)?.fingerprint ?? '';
  const found = HostKeys.parse(JSON.parse(scanned)).hostKeys.map(({ fingerprint }) => fingerprint);
  if (!found.includes(expected)) throw new StackError(`the Git host shows ${found.join(', ')} instead of ${expected}`);
  await run(options, 'approve the host key', ['git-host', 'approve', GIT_HOST, expected]);
}

async function importBundle(options: SetUpOptions): Promise<void> {
  const { state, log, signal } = options;
  log({ kind: 'progress', text: `GitOps: importing the install manifest of Flux ${FLUX_VERSION}` });
  const say = (text: string): void => log({ kind: 'progress', text });
  const file = state.file('gitops', 'flux-install.yaml');
  writeFileSync(file, await fluxInstallManifest({ log: say, signal }));
  await run(options, 'import the bundle', ['bundle', 'import', file, '--tool', 'flux', '--version', FLUX_VERSION]);
}

async function names(options: SetUpOptions, kind: 'git-host' | 'catalog' | 'bundle'): Promise<string[]> {
  return (await run(options, `list with ${kind}`, [kind, 'list', '-o', 'name'])).split('\n');
}

async function run({ cli, signal }: SetUpOptions, what: string, args: readonly string[]): Promise<string> {
  const patience: CliOptions = { timeoutMs: PATIENCE_MS, signal };
  return succeed(what, await cli(args, patience)).stdout;
}
