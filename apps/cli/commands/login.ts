import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { messageOf } from '@fairlead/errors';
import type { Command } from 'commander';
import { failure, usage } from '../failure.js';
import type { Io } from '../io.js';
import { printHint, printJson, printLines, type Format } from '../output/print.js';
import { Whoami } from '../session/answers.js';
import { removeLogin, saveLogin, loadLogin } from '../session/login-store.js';
import { readToken } from '../session/read-token.js';
import { outputOption } from './option-values.js';
import { connect, withApi } from './with-api.js';

const LOGIN_HELP = `
The token is read from --token-file, else from a pipe, else it is asked for without being shown.
It is checked, and then kept in a file that only you can read.

Examples:
  fairlead login --server https://fairlead.example:7070
  fairlead login --server https://127.0.0.1:7070 --ca-file root.pem --token-file admin.token
  pass show fairlead | fairlead login --server https://fairlead.example:7070`;

/** login, logout, whoami. */
export function addSessionCommands(program: Command, io: Io): void {
  program
    .command('login')
    .summary('log in to an installation')
    .description('Log in to an installation of Fairlead with an API token.')
    .requiredOption('--server <url>', 'the API, https://HOST:PORT')
    .option('--ca-file <file>', "root of the API's certificate, PEM; without it the system's roots are trusted")
    .option('--token-file <file>', 'the file that holds the API token; - is standard input')
    .addHelpText('after', LOGIN_HELP)
    .action((options: LoginOptions) => login(io, options));
  program
    .command('logout')
    .summary('forget the login')
    .description('Forget the login. The token itself stays valid.')
    .action(async () => {
      printLines(io, (await removeLogin(io.config.home)) ? 'logged out' : 'there was no login');
    });
  program
    .command('whoami')
    .summary('tell who is logged in')
    .description('Tell who the stored login is, asking the server.')
    .addOption(outputOption('table', 'json'))
    .action((options: { output: Format }) => whoami(io, options.output));
}

interface LoginOptions {
  readonly server: string;
  readonly caFile?: string;
  readonly tokenFile?: string;
}

async function login(io: Io, options: LoginOptions): Promise<void> {
  const server = serverUrl(options.server);
  const certificateAuthority = options.caFile === undefined ? undefined : await readRoots(options.caFile);
  const token = await readToken(io, options.tokenFile);
  await using api = await connect(io, { server, token, certificateAuthority });
  const { user } = await api.ask(Whoami, '/v1/whoami');
  await saveLogin(io.config.home, {
    version: 1,
    server,
    token,
    user,
    ...(certificateAuthority === undefined ? {} : { certificateAuthority }),
    ...(options.caFile === undefined ? {} : { certificateAuthorityFile: resolve(options.caFile) }),
  });
  printLines(io, `logged in to ${server} as ${user}`);
  printHint(io, 'next: fairlead cluster create demo');
}

async function whoami(io: Io, output: Format): Promise<void> {
  const answer = await withApi(io, (api) => api.ask(Whoami, '/v1/whoami'));
  if (output === 'json') return printJson(io, answer);
  const { server } = await loadLogin(io.config.home);
  printLines(io, `server: ${server}`, `user: ${answer.user}`, `groups: ${answer.groups.join(', ') || '-'}`);
}

function serverUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const next = 'write it like https://fairlead.example:7070';
  if (url?.protocol !== 'https:') throw usage(`--server ${text} is not an https:// URL`, next);
  if (url.username || url.password || url.search || url.hash || url.pathname !== '/') {
    throw usage('--server takes nothing but host and port', next);
  }
  return url.origin;
}

async function readRoots(file: string): Promise<string> {
  const next = 'pass the PEM file with the root of the installation to --ca-file';
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw failure('NOT_FOUND', `cannot read the root certificate: ${messageOf(error)}`, next, error);
  });
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
  throw usage(`${file} holds no PEM certificate`, next);
}
