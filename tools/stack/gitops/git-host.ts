import { existsSync, readFileSync, writeFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  commitFile,
  ensureCatalog,
  ensureCollaborator,
  exists,
  giteaClient,
  type GiteaClient,
} from '@fairlead/git-hosts/testing';
import { startGitea, type GiteaInfo } from '@fairlead/testbed';
import type { StackLog } from '../events.js';
import { componentUnit } from '../process/component-unit.js';
import type { ProcessGroup } from '../process/process-group.js';
import type { PortPlan } from '../state/port-plan.js';
import { putSecret } from '../state/secret-file.js';
import { linkLog, type StateDir } from '../state/state-dir.js';
import { StackError } from '../errors.js';
import { baseEnvironment } from '../process/base-environment.js';
import { runCommand } from '../process/run-command.js';

/** The Git host of the demo, with a catalog in it. */
export interface DemoGitHost {
  readonly info: GiteaInfo;
  readonly caFile: string;
  /** What the control plane gets: of a bot that administers this one repository. */
  readonly tokenFile: string;
  /** A clone that may push. */
  readonly workingCopy: string;
}

interface DemoGitHostOptions {
  readonly group: ProcessGroup;
  readonly state: StateDir;
  readonly ports: PortPlan;
  readonly log: StackLog;
}

/** What the demo cluster follows: the ConfigMap `from-git`. */
export const FOLLOWED_FILE = 'clusters/demo/from-git.yaml';
const FIRST_CONFIG_MAP = `apiVersion: v1
kind: ConfigMap
metadata:
  name: from-git
  namespace: default
data:
  greeting: hello
`;

/** Starts a Gitea on the planned ports. The first time there is made: a repository with one file, users, tokens and a clone. */
export async function startDemoGitHost(options: DemoGitHostOptions): Promise<DemoGitHost> {
  const { group, state, ports, log } = options;
  const dataDir = state.file('gitops', 'gitea');
  const logPath = join(dataDir, 'gitea.log');
  linkLog(state, 'gitea', logPath);
  const say = (text: string): void => log({ kind: 'progress', text });
  const { gitea: port, giteaSsh: sshPort } = ports;
  const unit = componentUnit({
    name: 'gitea',
    logPaths: [logPath],
    start: (signal) => startGitea({ dataDir, port, sshPort, log: say, signal }),
  });
  await group.start(unit, 'infrastructure');
  const { info } = unit;
  const caFile = state.file('gitops', 'git-host-ca.pem');
  writeFileSync(caFile, info.caPem);
  await using client = giteaClient(info.url, info.caPem, info.adminToken);
  const { tokenFile, workingCopy } = await prepare(client, info, caFile, options);
  return { info, caFile, tokenFile, workingCopy };
}

async function prepare(
  client: GiteaClient,
  info: GiteaInfo,
  caFile: string,
  { state, group }: DemoGitHostOptions,
): Promise<{ readonly tokenFile: string; readonly workingCopy: string }> {
  await ensureCatalog(client);
  const tokenFile = state.file('secrets', 'git-host.token');
  const pushTokenFile = state.file('secrets', 'git-push.token');
  // Git itself writes it anew, in its own way, whenever it has used it.
  const credentialsFile = state.file('gitops', 'push.credentials');
  if (!existsSync(tokenFile)) {
    const bot = await ensureCollaborator(client, 'fairlead-bot', 'admin');
    putSecret(tokenFile, await bot.token('write:repository'));
  }
  if (!existsSync(credentialsFile)) {
    const person = await ensureCollaborator(client, 'demo', 'write');
    putSecret(pushTokenFile, await person.token('write:repository'));
    const { host } = new URL(info.url);
    putSecret(credentialsFile, `https://demo:${readFileSync(pushTokenFile, 'utf8').trim()}@${host}`);
  }
  const workingCopy = state.file('catalog');
  if (!existsSync(workingCopy)) {
    const there = await exists(client, `/repos/platform/catalog/contents/${FOLLOWED_FILE}`);
    if (!there) await commitFile(client, FOLLOWED_FILE, FIRST_CONFIG_MAP);
    const url = `${info.url}/platform/catalog.git`;
    await cloneCatalog({ url, caFile, credentialsFile, path: workingCopy, signal: group.signal });
  }
  return { tokenFile, workingCopy };
}

interface CloneOptions {
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
async function cloneCatalog({ url, caFile, credentialsFile, path, signal }: CloneOptions): Promise<void> {
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
