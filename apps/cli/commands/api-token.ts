import { resolve } from 'node:path';
import type { Command } from 'commander';
import { addEndOptions, endOf, endText, type EndOptions } from '../access/end.js';
import { failure } from '../failure.js';
import type { Io } from '../io.js';
import { tokenStatus } from '../output/access-view.js';
import { ageText } from '../output/cluster-view.js';
import { printHint, printJson, printLines, printList, printResult } from '../output/print.js';
import { refuseExisting } from '../output/refuse-existing.js';
import { ApiToken, ApiTokenList, CreatedApiToken } from '../session/access-answers.js';
import { allPages } from '../session/all-pages.js';
import type { ApiClient } from '../session/api-client.js';
import { writePrivateFile } from '../session/login-store.js';
import { itemPath } from '../session/paths.js';
import { confirmed } from '../session/prompt.js';
import { outputOption, type Confirmed, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

const TOKENS = '/v1/api-tokens';

const CREATE_HELP = `
It may do nothing before it is granted something. The secret is shown this once: to a file for you only with --out, else to standard output.
In clusters it is the user token:NAME.

Examples:
  fairlead api-token create deployer --for 90d --out deployer.token
  fairlead grant create --token deployer --role edit --namespace shop --cluster shop-eu --for 90d --reason 'the pipeline'
  fairlead login --server https://fairlead.example:7070 --token-file deployer.token`;

interface CreateOptions extends Printed, EndOptions {
  readonly out?: string;
  readonly force?: true;
}

/** api-token create, list, revoke. */
export function addApiTokenCommands(program: Command, io: Io): void {
  const token = program
    .command('api-token')
    .summary('make tokens for programs, revoke them')
    .description('Make API tokens, which programs log in with; look at them, and revoke them.');
  addEndOptions(token.command('create <name>').summary('make an API token').description('Make an API token.'))
    .option('--out <file>', 'write the secret there, for you only, instead of showing it')
    .option('--force', 'replace the file if it is there')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', CREATE_HELP)
    .action((name: string, options: CreateOptions) => create(io, name, options));
  token
    .command('list')
    .alias('ls')
    .summary('list the API tokens')
    .description('List the API tokens, those that were revoked too. Their secrets are kept nowhere.')
    .addOption(outputOption('table', 'json', 'name'))
    .action((options: Printed) => list(io, options));
  token
    .command('revoke <name>')
    .summary('revoke an API token')
    .description(
      'Revoke an API token, by its name or id. What runs with it is cut off within two seconds. It cannot be undone.',
    )
    .option('--yes', 'do not ask; needed where there is no terminal')
    .addOption(outputOption('table', 'json'))
    .action((name: string, options: Confirmed) => revoke(io, name, options));
}

async function create(io: Io, name: string, options: CreateOptions): Promise<void> {
  const { out, force, output } = options;
  const file = out === undefined ? undefined : resolve(out);
  if (file !== undefined && !force) await refuseExisting(file);
  const body = { name, expiresAt: endOf(options, io.now()) };
  const { token, secret } = await withApi(io, (api) => api.ask(CreatedApiToken, TOKENS, { method: 'POST', body }));
  if (file !== undefined) await writePrivateFile(file, `${secret}\n`);
  if (output === 'json') printJson(io, file === undefined ? { token, secret } : { token, file });
  // Alone on standard output, so that it can be piped to where it is kept.
  else printLines(io, file === undefined ? secret : `token ${name} written to ${file}`);
  printHint(io, `in clusters it is token:${name}, until: ${endText(token.expiresAt)}; it may do nothing yet`);
  printHint(io, `next: fairlead grant create --token ${name} --role view --cluster NAME --for 4d --reason TEXT`);
}

async function list(io: Io, { output }: Printed): Promise<void> {
  const tokens = await withApi(io, everyToken);
  printList(io, output, {
    list: { tokens },
    name: ({ name }) => name,
    none: ['no API tokens yet', 'next: fairlead api-token create --help'],
    heading: ['NAME', 'STATUS', 'UNTIL', 'LAST USED', 'MADE BY', 'AGE', 'ID'],
    row: (each) => [
      each.name,
      tokenStatus(each, io.now()),
      endText(each.expiresAt),
      each.lastUsedAt ?? 'never',
      each.createdBy,
      ageText(each.createdAt, io.now()),
      each.id,
    ],
  });
}

async function revoke(io: Io, name: string, { yes, output }: Confirmed): Promise<void> {
  if (!(await confirmed(io, `Revoke the API token ${name}? It cannot be undone.`, yes))) {
    return printLines(io, 'nothing revoked');
  }
  const token = await withApi(io, async (api) => {
    const { id } = await tokenNamed(api, name);
    return api.ask(ApiToken, `${itemPath(TOKENS, id)}/revocation`, { method: 'POST' });
  });
  printResult(io, output, token, `token ${token.name} revoked`);
}

/** The one that is not revoked, before others that had its name. NOT_FOUND. */
async function tokenNamed(api: ApiClient, name: string): Promise<ApiToken> {
  const named = (await everyToken(api)).filter((each) => each.name === name || each.id === name);
  const found = named.find(({ revokedAt }) => revokedAt === null) ?? named[0];
  if (!found) throw failure('NOT_FOUND', `there is no API token ${name}`, 'fairlead api-token list');
  return found;
}

function everyToken(api: ApiClient): Promise<ApiToken[]> {
  return allPages(api, ApiTokenList, TOKENS, ({ tokens }) => tokens);
}
