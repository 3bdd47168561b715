import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { messageOf } from '@fairlead/errors';
import type { Command } from 'commander';
import { alreadySaid, failure, usage } from '../failure.js';
import type { Io } from '../io.js';
import { printHint, printJson, printLines, printNotice, type Format } from '../output/print.js';
import type { ApiClient } from '../session/api-client.js';
import { Whoami } from '../session/answers.js';
import { connect } from '../session/connect.js';
import { withLoginLock } from '../session/login-lock.js';
import { findLogin, removeLogin, saveLogin, type Login } from '../session/login-store.js';
import { removeStatements } from '../session/statement-store.js';
import { readToken } from '../session/read-token.js';
import { outputOption } from './option-values.js';
import { withApi } from './with-api.js';

const LOGIN_HELP = `
On a terminal it opens a browser, where your organisation asks who you are; without a display it shows a code to enter in a browser elsewhere.
Such a login is short, is renewed by itself, and ends at the server with: fairlead logout

With --token-file, or a token in a pipe, it is the login of that API token. Either is kept in a file that only you can read.

Examples:
  fairlead login --server https://fairlead.example:7070
  fairlead login                                     # again, at the same server
  fairlead login --issuer corporate --device         # no browser here
  fairlead login --server https://127.0.0.1:7070 --ca-file root.pem --token-file admin.token
  pass show fairlead | fairlead login --server https://fairlead.example:7070`;

/** login, logout, whoami. */
export function addSessionCommands(program: Command, io: Io): void {
  program
    .command('login')
    .summary('log in to an installation')
    .description('Log in to an installation of Fairlead: in a browser, by a code, or with an API token.')
    .option('--server <url>', 'the API, https://HOST:PORT; that of the last login unless given')
    .option('--ca-file <file>', "root of the API's certificate, PEM; without it the system's roots are trusted")
    .option('--issuer <name>', 'where to log in, if there are several')
    .option('--device', 'show a code to enter in a browser elsewhere')
    .option('--token-file <file>', 'the file that holds an API token; - is standard input')
    .addHelpText('after', LOGIN_HELP)
    .action((options: LoginOptions) => login(io, options));
  program
    .command('logout')
    .summary('end the login')
    .description('End the login, at the server too, and forget it. An API token stays valid.')
    .action(() => logout(io));
  program
    .command('whoami')
    .summary('tell who is logged in, and until when')
    .description('Tell who the stored login is, asking the server, how they logged in, and until when.')
    .addOption(outputOption('table', 'json'))
    .action((options: { output: Format }) => whoami(io, options.output));
}

interface LoginOptions {
  readonly server?: string | undefined;
  readonly caFile?: string | undefined;
  readonly issuer?: string | undefined;
  readonly device?: true | undefined;
  readonly tokenFile?: string | undefined;
}

type Server = Pick<Login, 'server' | 'certificateAuthority' | 'certificateAuthorityFile'>;

async function login(io: Io, options: LoginOptions): Promise<void> {
  const { issuer, device, tokenFile } = options;
  if (tokenFile !== undefined && (issuer !== undefined || device)) {
    throw usage('an API token is of no issuer', 'leave out --token-file, or --issuer and --device');
  }
  const server = await serverOf(io, options);
  const made = await credentialsOf(io, server, options);
  await withLoginLock(io.config.home, 'wait', () => saveLogin(io.config.home, { ...server, ...made }));
  printLines(io, `logged in to ${server.server} as ${made.user}`);
  printHint(io, made.issued ? 'next: fairlead cluster list' : 'next: fairlead cluster create demo');
}

/** The server that is named, or that of the last login with what is trusted there. */
async function serverOf(io: Io, { server, caFile }: LoginOptions): Promise<Server> {
  const named = caFile === undefined ? {} : await trusted(caFile);
  if (server !== undefined) return { server: serverUrl(server), ...named };
  const last = await findLogin(io.config.home);
  if (!last) throw usage('--server is missing', 'fairlead login --server https://HOST:PORT --ca-file ROOT.pem');
  const { token: _token, user: _user, issued: _issued, ...known } = last;
  return { ...known, ...named };
}

async function trusted(file: string): Promise<Omit<Server, 'server'>> {
  return { certificateAuthority: await readRoots(file), certificateAuthorityFile: resolve(file) };
}

/** By an issuer where one is asked for, or somebody sits at a terminal and there is one; else by an API token. */
async function credentialsOf(
  io: Io,
  server: Server,
  { issuer, device, tokenFile }: LoginOptions,
): Promise<Pick<Login, 'token' | 'user' | 'issued'>> {
  const wanted = issuer !== undefined || device === true;
  if (wanted || (tokenFile === undefined && io.stdin.isTTY)) {
    await using api = await connect(io, { ...server, token: '' });
    const made = await byIssuer(io, api, { issuer, device });
    if (made) return made;
    if (wanted) throw failure('NOT_FOUND', 'this installation has no issuer to log in at', 'log in with --token-file');
  }
  const token = await readToken(io, tokenFile);
  await using api = await connect(io, { ...server, token });
  const { user } = await api.ask(Whoami, '/v1/whoami');
  return { token, user };
}

async function byIssuer(
  io: Io,
  api: ApiClient,
  options: Pick<LoginOptions, 'issuer' | 'device'>,
): Promise<Pick<Login, 'token' | 'user' | 'issued'> | undefined> {
  // Loaded only here: see `connect`.
  const { chooseIssuer, logIn } = await import('../login/log-in.js');
  const option = await chooseIssuer(api, { ...options, tenant: io.config.tenant });
  return option && logIn(io, api, option, options);
}

async function logout(io: Io): Promise<void> {
  const problems = await withLoginLock(io.config.home, 'wait', async () => {
    // What cannot be read any more is forgotten all the same.
    const stored = await findLogin(io.config.home).catch(() => undefined);
    await removeStatements(io.config.home);
    const removed = await removeLogin(io.config.home);
    printLines(io, removed ? 'logged out' : 'there was no login');
    if (!stored?.issued) return [];
    const { endEverywhere } = await import('../login/log-out.js');
    return endEverywhere(io, stored, stored.issued);
  });
  if (!problems?.length) return;
  printNotice(io, ...problems.map((problem) => `warning: ${problem}`));
  throw alreadySaid();
}

async function whoami(io: Io, output: Format): Promise<void> {
  const { answer, stored } = await withApi(io, async (api, stored) => ({
    answer: await api.ask(Whoami, '/v1/whoami'),
    stored,
  }));
  const { server, issued } = stored;
  if (output === 'json') return printJson(io, issued ? { ...answer, login: shownLogin(issued) } : answer);
  printLines(
    io,
    `server: ${server}`,
    `user: ${answer.user}`,
    `groups: ${answer.groups.join(', ') || '-'}`,
    `logged in: ${issued ? `at ${issued.issuer.name} (${issued.issuer.url})` : 'with an API token'}`,
    ...(issued ? [`until: ${endOf(issued)}`] : []),
  );
}

function shownLogin({ issuer, expiresAt, sessionEndsAt, refreshToken }: NonNullable<Login['issued']>): object {
  return { issuer: issuer.name, issuerUrl: issuer.url, expiresAt, sessionEndsAt, renewed: refreshToken !== undefined };
}

function endOf({ expiresAt, sessionEndsAt, refreshToken }: NonNullable<Login['issued']>): string {
  if (refreshToken === undefined) return `${expiresAt}; then log in again`;
  return `${sessionEndsAt}, renewed by itself (the present token: ${expiresAt})`;
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
