import { readFile } from 'node:fs/promises';
import { messageOf } from '@fairlead/errors';
import { Option, type Command } from 'commander';
import { z } from 'zod';
import { failure, usage } from '../failure.js';
import type { Io } from '../io.js';
import { printGitHost, problemText, trustText } from '../output/git-host-view.js';
import { printHint, printJson, printLines, printList } from '../output/print.js';
import { GitHost, GitHostList } from '../session/gitops-answers.js';
import { itemPath } from '../session/paths.js';
import { confirmed } from '../session/prompt.js';
import { readGitToken } from '../session/read-token.js';
import { addHostKeyCommands } from './git-host-keys.js';
import { outputOption, portNumber, type Confirmed, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

/** The Git host itself is asked: the API answers within this. */
const HOST_MS = 90_000;

export const GIT_HOST_KINDS = ['github', 'gitlab', 'gitea', 'manual'];

const ADD_HELP = `
The token is read from --token-file (which only you may be able to read), else from a pipe, else it is asked for without being shown.
It is tried first: if a right is missing, nothing is stored. It is sealed then, and nobody ever sees it again. The least it needs:
  github   fine-grained, for the chosen repositories: Administration write, Contents read
  gitlab   access token of the project or group, role Maintainer: api
  gitea    token of a user of its own that administers the repositories: write:repository
  manual   none: somebody adds the clusters' keys by hand

Examples:
  fairlead git-host add main --kind github --url https://github.com --token-file github.token
  pass show gitea | fairlead git-host add forge --kind gitea --url https://git.example.com --ssh-port 2222 --ca-file ca.pem
  fairlead git-host add legacy --kind manual --ssh-host git.old.example
  fairlead git-host add main --kind github --url https://github.com --keep-token --create-repositories   # change it

Next: fairlead git-host scan <name>, compare the fingerprints, and fairlead git-host approve <name>.`;

interface AddOptions extends Printed {
  readonly kind: string;
  readonly url?: string;
  readonly sshHost?: string;
  readonly sshPort?: number;
  readonly caFile?: string;
  readonly tokenFile?: string;
  readonly keepToken?: true;
  readonly createRepositories?: true;
}

/** git-host add, list, show, scan, approve, rm. */
export function addGitHostCommands(program: Command, io: Io): void {
  const host = program
    .command('git-host')
    .summary('say where catalogs are, and by which keys they are known')
    .description(
      'Git hosts that clusters fetch their catalog from: how to add deploy keys there, and which host keys are trusted.',
    );
  host
    .command('add <name>')
    .summary('make or change a Git host')
    .description('Make a Git host, or change one: what is not given is then as if it was made anew, but for the token.')
    .addOption(new Option('--kind <kind>', 'what it is').choices(GIT_HOST_KINDS).makeOptionMandatory())
    .option('--url <url>', 'https://…, as people open it; not with manual')
    .option('--ssh-host <host>', 'where clusters fetch by SSH; the host of --url unless given')
    .option('--ssh-port <port>', 'its port; 22 unless given', portNumber)
    .option('--ca-file <file>', 'a private authority of its API, PEM: then only it is trusted')
    .option('--token-file <file>', 'the file that holds the token, mode 0600; - is standard input')
    .option('--keep-token', 'keep the token that is there')
    .option('--create-repositories', 'repositories may be made with it: the token needs the right to')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', ADD_HELP)
    .action((name: string, options: AddOptions) => add(io, name, options));
  host
    .command('list')
    .alias('ls')
    .summary('list the Git hosts')
    .description('List the Git hosts.')
    .addOption(outputOption('table', 'json', 'name'))
    .action((options: Printed) => list(io, options));
  host
    .command('show <name>')
    .summary('show a Git host, its keys and what its token may do')
    .description('Show a Git host, its keys and what its token may do. The token itself is never shown.')
    .addOption(outputOption('table', 'json'))
    .action((name: string, options: Printed) => show(io, name, options));
  addHostKeyCommands(host, io);
  host
    .command('rm <name>')
    .summary('forget a Git host and its token')
    .description('Forget a Git host and its token. Refused while a catalog repository or a deploy key needs it.')
    .option('--yes', 'do not ask; needed where there is no terminal')
    .addOption(outputOption('table', 'json'))
    .action((name: string, options: Confirmed) => remove(io, name, options));
}

async function add(io: Io, name: string, options: AddOptions): Promise<void> {
  const { kind, url, sshHost, sshPort, caFile, keepToken, tokenFile, createRepositories, output } = options;
  if (keepToken && tokenFile !== undefined)
    throw usage('--keep-token and --token-file say different things', 'drop one');
  const needsToken = kind !== 'manual' && !keepToken;
  const caPem = caFile === undefined ? undefined : await readAuthority(caFile);
  const token = needsToken ? await readGitToken(io, tokenFile) : undefined;
  // JSON leaves out what is undefined.
  const body = { kind, url, sshHost, sshPort, caPem, token, createRepositories };
  const ask = { method: 'PUT', body, deadlineMs: HOST_MS } as const;
  const host = await withApi(io, (api) => api.ask(GitHost, itemPath('/v1/git-hosts', name), ask));
  if (output === 'json') return printJson(io, host);
  printLines(io, `Git host ${host.name} kept${host.hasToken ? '; its token is sealed' : ''}`);
  for (const { verdict, right, why } of host.findings) {
    if (verdict !== 'granted') printLines(io, `${verdict}: ${right}: ${why}`);
  }
  if (!host.hostKeys.some(({ state }) => state === 'approved')) {
    printHint(io, `next: fairlead git-host scan ${host.name}`, `then: fairlead git-host approve ${host.name}`);
  }
}

async function list(io: Io, { output }: Printed): Promise<void> {
  const { hosts } = await withApi(io, (api) => api.ask(GitHostList, '/v1/git-hosts'));
  printList(io, output, {
    list: { hosts },
    name: ({ name }) => name,
    none: ['no Git hosts yet', 'next: fairlead git-host add --help'],
    heading: ['NAME', 'KIND', 'URL', 'SSH', 'HOST KEYS', 'TOKEN', 'PROBLEM'],
    row: (host) => [
      host.name,
      host.kind,
      host.url ?? '',
      `${host.sshHost}:${host.sshPort}`,
      trustText(host),
      host.hasToken ? (host.tokenExpiresAt ?? 'sealed') : 'none',
      { text: problemText(host), colour: 'red' },
    ],
  });
}

async function show(io: Io, name: string, { output }: Printed): Promise<void> {
  const host = await withApi(io, (api) => api.ask(GitHost, itemPath('/v1/git-hosts', name)));
  if (output === 'json') return printJson(io, host);
  printGitHost(io, host);
}

async function remove(io: Io, name: string, { yes, output }: Confirmed): Promise<void> {
  if (!(await confirmed(io, `Forget the Git host ${name} and its token?`, yes)))
    return printLines(io, 'nothing removed');
  await withApi(io, (api) => api.ask(z.null(), itemPath('/v1/git-hosts', name), { method: 'DELETE' }));
  if (output === 'json') return printJson(io, { name, deleted: true });
  printLines(io, `Git host ${name} forgotten`);
  printHint(io, 'revoke its token at the Git host as well');
}

async function readAuthority(file: string): Promise<string> {
  const next = 'pass a PEM file with the authority of the Git host to --ca-file';
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw failure('NOT_FOUND', `cannot read the authority: ${messageOf(error)}`, next, error);
  });
  const begin = text.indexOf('-----BEGIN CERTIFICATE-----');
  if (begin < 0) throw usage(`${file} holds no PEM certificate`, next);
  return text.slice(begin);
}
