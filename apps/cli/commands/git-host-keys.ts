import { createHash } from 'node:crypto';
import { Option, type Command } from 'commander';
import { usage } from '../failure.js';
import type { Io } from '../io.js';
import { printHostKeys } from '../output/git-host-view.js';
import { printHint, printJson, printLines } from '../output/print.js';
import { GitHost } from '../session/gitops-answers.js';
import type { ApiClient } from '../session/api-client.js';
import { itemPath } from '../session/paths.js';
import { confirmed } from '../session/prompt.js';
import { collected, outputOption, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

const SCAN_MS = 40_000;

const APPROVE_HELP = `
What is approved is trusted by all clusters, with their next desired state. The fingerprints that are named are the whole set: a key
that was trusted and is not among them is trusted no more. Without any, on a terminal, the keys that the host showed are shown and
asked about. Compare them with what the host publishes, or with what its administrator reads there by
  ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub

Examples:
  fairlead git-host approve main
  fairlead git-host approve main SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU
  fairlead git-host approve main --key 'ssh-ed25519 AAAA…'      # known from elsewhere: no scan has to be believed`;

interface Approving extends Printed {
  readonly key: readonly string[];
  readonly yes?: true;
}

/** git-host scan, approve. */
export function addHostKeyCommands(host: Command, io: Io): void {
  host
    .command('scan <name>')
    .summary('ask a Git host for its SSH keys')
    .description('Ask a Git host for its SSH keys. Those that are new are proposed, and trusted by nobody.')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', '\nNext: compare the fingerprints, then fairlead git-host approve <name>.')
    .action((name: string, options: Printed) => scan(io, name, options));
  host
    .command('approve <name> [fingerprints...]')
    .summary('say which SSH keys of a Git host are trusted')
    .description('Say which SSH keys of a Git host are trusted, once for all clusters.')
    .addOption(
      new Option('--key <key>', 'a key that is known from elsewhere, as TYPE BASE64; may be repeated')
        .argParser(collected)
        .default([], 'none'),
    )
    .option('--yes', 'do not ask; with fingerprints or --key')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', APPROVE_HELP)
    .action((name: string, fingerprints: string[], options: Approving) => approve(io, name, fingerprints, options));
}

async function scan(io: Io, name: string, { output }: Printed): Promise<void> {
  const path = `${itemPath('/v1/git-hosts', name)}/host-keys/scan`;
  const host = await withApi(io, (api) => api.ask(GitHost, path, { method: 'POST', deadlineMs: SCAN_MS }));
  if (output === 'json') return printJson(io, host);
  printHostKeys(io, host);
  if (host.hostKeys.some(({ state }) => state === 'proposed')) {
    printHint(io, `compare the fingerprints, then: fairlead git-host approve ${host.name}`);
  }
}

async function approve(io: Io, name: string, named: readonly string[], options: Approving): Promise<void> {
  const { key: keys, yes, output } = options;
  const chosen = [...named, ...keys.map(fingerprintOf)];
  const asked = await withApi(io, async (api) => {
    const fingerprints = chosen.length > 0 ? chosen : await choose(io, api, name, yes);
    if (fingerprints === null) return null;
    const body = { fingerprints: [...new Set(fingerprints)], ...(keys.length === 0 ? {} : { keys }) };
    return api.ask(GitHost, `${itemPath('/v1/git-hosts', name)}/host-keys/approval`, { method: 'POST', body });
  });
  if (asked === null) return printLines(io, 'nothing approved');
  if (output === 'json') return printJson(io, asked);
  printLines(io, `of ${asked.name} these are trusted, by all clusters with their next desired state:`);
  printHostKeys(io, { ...asked, hostKeys: asked.hostKeys.filter(({ state }) => state === 'approved') });
}

/** All that the host showed and that are trusted, if whoever sits there says so; null: not. */
async function choose(io: Io, api: ApiClient, name: string, yes: true | undefined): Promise<string[] | null> {
  const host = await api.ask(GitHost, itemPath('/v1/git-hosts', name));
  const candidates = host.hostKeys.filter(({ state }) => state !== 'withdrawn');
  const isNew = candidates.some(({ state }) => state === 'proposed');
  if (!isNew) throw usage(`no key of ${name} waits for a decision`, `fairlead git-host scan ${name}`);
  if (yes || !io.stdin.isTTY) {
    const text = candidates.map(({ fingerprint }) => fingerprint).join(' ');
    throw usage('it is not said which keys', `compare them, then: fairlead git-host approve ${name} ${text}`);
  }
  printHostKeys(io, { ...host, hostKeys: candidates });
  const question = 'Did you compare them with what the host publishes, and are all of them to be trusted?';
  return (await confirmed(io, question, undefined)) ? candidates.map(({ fingerprint }) => fingerprint) : null;
}

/** As ssh-keygen shows it. */
function fingerprintOf(key: string): string {
  const [type, base64 = '', ...rest] = key.trim().split(/\s+/);
  if (!type || !/^[A-Za-z0-9+/]{40,}={0,2}$/.test(base64) || rest.length > 0) {
    throw usage('this is no SSH public key', "write it as --key 'TYPE BASE64', without a comment or the host's name");
  }
  const hash = createHash('sha256').update(Buffer.from(base64, 'base64')).digest('base64');
  return `SHA256:${hash.replaceAll('=', '')}`;
}
