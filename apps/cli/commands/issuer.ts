import { readFile } from 'node:fs/promises';
import { messageOf } from '@fairlead/errors';
import { Option, type Command } from 'commander';
import { z } from 'zod';
import { failure } from '../failure.js';
import type { Io } from '../io.js';
import { printHint, printJson, printLines, printList, printResult } from '../output/print.js';
import { Issuer, IssuerList } from '../session/access-answers.js';
import { parseJson } from '../session/parse-json.js';
import { itemPath } from '../session/paths.js';
import { confirmed } from '../session/prompt.js';
import { collected, outputOption, pairs, type Confirmed, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

const ISSUERS = '/v1/issuers';

const ADD_HELP = `
Register this command there as a public client (no secret) with the redirect http://127.0.0.1/callback, any port.
Every user and group of an issuer has its prefix before the name, NAME: unless it is said: grant to corp:alice, corp:developers.

Examples:
  fairlead issuer add corp --url https://login.example.com/realms/corp --client-id fairlead --user-claim email
  fairlead issuer add github --kind workload --url https://token.actions.githubusercontent.com --client-id fairlead \\
    --require 'repository_owner=our-org'
  fairlead grant create --group corp:developers --role view --clusters 'env=staging' --until never --reason 'all may look'`;

interface AddOptions extends Printed {
  readonly kind: string;
  readonly url: string;
  readonly clientId: string;
  readonly prefix?: string;
  readonly scope?: readonly string[];
  readonly userClaim?: string;
  readonly groupsClaim?: string;
  readonly require?: Readonly<Record<string, string>>;
  readonly deviceCode?: true;
  readonly keysFile?: string;
  readonly caFile?: string;
}

/** issuer add, list, remove. */
export function addIssuerCommands(program: Command, io: Io): void {
  const issuer = program
    .command('issuer')
    .summary('say where people log in, and which programs are believed')
    .description('Issuers of OpenID Connect: where people log in, and whose tokens of programs are taken.');
  addAdd(issuer, io);
  issuer
    .command('list')
    .alias('ls')
    .summary('list the issuers')
    .description('List the issuers.')
    .addOption(outputOption('table', 'json', 'name'))
    .action((options: Printed) => list(io, options));
  issuer
    .command('remove <name>')
    .alias('rm')
    .summary('forget an issuer')
    .description('Forget an issuer: logins by it end. Grants to its users stay, and mean nobody until it is back.')
    .option('--yes', 'do not ask; needed where there is no terminal')
    .addOption(outputOption('table', 'json'))
    .action((name: string, options: Confirmed) => remove(io, name, options));
}

function addAdd(issuer: Command, io: Io): void {
  issuer
    .command('add <name>')
    .summary('add an issuer, or change it')
    .description('Add an issuer, or change the one of this name.')
    .requiredOption('--url <url>', 'iss of its tokens; its discovery document is below it')
    .requiredOption('--client-id <id>', 'the client that people log in with; of programs, the audience of their tokens')
    .addOption(
      new Option('--kind <kind>', 'oidc: people log in there; workload: it vouches for programs')
        .choices(['oidc', 'workload'])
        .default('oidc'),
    )
    .option('--prefix <text>', "before all its users' and groups' names; NAME: unless given")
    .addOption(new Option('--scope <scope>', 'ask for this scope; may be repeated').argParser(collected))
    .option('--user-claim <claim>', 'which claim names a user; sub unless given')
    .option('--groups-claim <claim>', 'which claim lists their groups; groups unless given')
    .addOption(
      new Option(
        '--require <claim=value>',
        'believe only tokens with this claim, * for whatever follows; may be repeated',
      ).argParser(pairs),
    )
    .option('--device-code', 'let people log in there by a code, where they have no browser')
    .option('--keys-file <file>', 'its keys (JWKS), instead of what its discovery document names')
    .option('--ca-file <file>', "its certificate's authority, PEM; without it the system's roots are trusted")
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', ADD_HELP)
    .action((name: string, options: AddOptions) => add(io, name, options));
}

async function add(io: Io, name: string, options: AddOptions): Promise<void> {
  const { kind, url, clientId: audience, prefix = `${name}:`, scope: scopes, userClaim, groupsClaim } = options;
  const { require: requiredClaims, deviceCode, keysFile, caFile, output } = options;
  const certificateAuthority = caFile === undefined ? undefined : await readPem(caFile);
  const jwks = keysFile === undefined ? undefined : await readKeys(keysFile);
  const claims = { userClaim, groupsClaim, requiredClaims };
  const body = { kind, url, audience, prefix, scopes, ...claims, deviceCode, jwks, certificateAuthority };
  const issuer = await withApi(io, (api) => api.ask(Issuer, itemPath(ISSUERS, name), { method: 'PUT', body }));
  if (output === 'json') return printJson(io, issuer);
  printLines(io, `issuer ${issuer.name} put: its users are called ${issuer.prefix}NAME`);
  const subject = kind === 'workload' ? `--workload ${issuer.prefix}NAME` : `--user ${issuer.prefix}NAME`;
  printHint(io, `next: fairlead grant create ${subject} --role view --cluster CLUSTER --for 4d --reason TEXT`);
}

async function list(io: Io, { output }: Printed): Promise<void> {
  const { issuers } = await withApi(io, (api) => api.ask(IssuerList, ISSUERS));
  printList(io, output, {
    list: { issuers },
    name: ({ name }) => name,
    none: ['no issuers yet', 'next: fairlead issuer add --help'],
    heading: ['NAME', 'KIND', 'URL', 'CLIENT', 'PREFIX'],
    row: (each) => [each.name, each.kind, each.url, each.audience, each.prefix],
  });
}

async function remove(io: Io, name: string, { yes, output }: Confirmed): Promise<void> {
  const question = `Forget the issuer ${name}? Everybody who logged in by it is logged out.`;
  if (!(await confirmed(io, question, yes))) return printLines(io, 'nothing removed');
  await withApi(io, (api) => api.ask(z.null(), itemPath(ISSUERS, name), { method: 'DELETE' }));
  printResult(io, output, { name, deleted: true }, `issuer ${name} forgotten`);
}

async function readKeys(file: string): Promise<unknown> {
  const next = 'pass a file with its JSON Web Key Set to --keys-file, such as: kubectl get --raw /openid/v1/jwks';
  const keys = parseJson(await readText(file, next));
  if (typeof keys === 'object' && keys !== null && 'keys' in keys) return keys;
  throw failure('INVALID_ARGUMENT', `${file} holds no JSON Web Key Set`, next);
}

async function readPem(file: string): Promise<string> {
  const next = 'pass a PEM file with the certificate of the authority to --ca-file';
  const text = await readText(file, next);
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
  throw failure('INVALID_ARGUMENT', `${file} holds no PEM certificate`, next);
}

function readText(file: string, next: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw failure('NOT_FOUND', `cannot read ${file}: ${messageOf(error)}`, next, error);
  });
}
