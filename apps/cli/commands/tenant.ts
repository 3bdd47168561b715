import { InvalidArgumentError, Option, type Command } from 'commander';
import { z } from 'zod';
import type { Io } from '../io.js';
import { ageText } from '../output/cluster-view.js';
import { printHint, printLines, printList, printResult } from '../output/print.js';
import { allPages } from '../session/all-pages.js';
import { Tenant, TenantList } from '../session/answers.js';
import { itemPath } from '../session/paths.js';
import { confirmed } from '../session/prompt.js';
import { outputOption, wholeNumber, type Confirmed, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

const LIST = '/v1/tenants';
const HELP = `
A tenant owns clusters, grants, tokens, issuers and Git hosts apart from all others. Only administrators of the
installation make tenants; with --tenant NAME before any other command, or FAIRLEAD_TENANT, they act in one.

A tenant with an administrator of its own:
  fairlead tenant create shop --clusters 20
  fairlead --tenant shop api-token create boss --for 30d --out boss.token
  fairlead --tenant shop grant create --token boss --role administrator --for 30d --reason "runs shop"
  fairlead login --server https://fairlead.example:7070 --token-file boss.token      # as boss, who needs no --tenant`;

interface Quotas {
  readonly clusters?: number | null | undefined;
  readonly clients?: number | null | undefined;
  readonly apiTokens?: number | null | undefined;
  readonly grants?: number | null | undefined;
}

/** tenant create, list, show, update, delete. */
export function addTenantCommands(program: Command, io: Io): void {
  const tenant = program
    .command('tenant')
    .summary('owners of clusters, apart from each other')
    .description('Tenants: owners of clusters in one installation, apart from each other.')
    .addHelpText('after', HELP);
  withQuotas(
    tenant
      .command('create <name>')
      .summary('make a tenant')
      .description('Make a tenant. Its name is never used again.'),
  ).action((name: string, options: Printed & Quotas) => create(io, name, options));
  tenant
    .command('list')
    .alias('ls')
    .summary('list the tenants')
    .description('List the tenants, with how much they have of what they may.')
    .addOption(outputOption('table', 'json', 'name'))
    .action((options: Printed) => list(io, options));
  tenant
    .command('show <name>')
    .summary('show a tenant')
    .description('Show a tenant, with how much it has of what it may.')
    .addOption(outputOption('table', 'json'))
    .action((name: string, { output }: Printed) => show(io, name, output));
  withQuotas(
    tenant
      .command('update <name>')
      .summary('change quotas')
      .description('Change quotas; those that are left out stay. What there is beyond a lower one stays, too.'),
  ).action((name: string, options: Printed & Quotas) => update(io, name, options));
  tenant
    .command('delete <name>')
    .alias('rm')
    .summary('delete a tenant that has nothing left')
    .description('Delete a tenant that has no clusters, clients, Git hosts, repositories, bundles and assignments.')
    .option('--yes', 'do not ask; needed where there is no terminal')
    .addOption(outputOption('table', 'json'))
    .action((name: string, options: Confirmed) => remove(io, name, options));
}

function withQuotas(command: Command): Command {
  const option = (flag: string, what: string): Option =>
    new Option(`--${flag} <number>`, `at most so many ${what}; or none, for no limit`).argParser(quota);
  return command
    .addOption(option('clusters', 'clusters'))
    .addOption(option('clients', 'clients of the CONNECT door'))
    .addOption(option('api-tokens', 'API tokens'))
    .addOption(option('grants', 'grants'))
    .addOption(outputOption('table', 'json'));
}

function quota(text: string): number | null {
  if (text === 'none') return null;
  try {
    return wholeNumber(text);
  } catch {
    throw new InvalidArgumentError('Expected a whole number, or none.');
  }
}

const quotasOf = ({ clusters, clients, apiTokens, grants }: Quotas): Quotas => ({
  clusters,
  clients,
  apiTokens,
  grants,
});

async function create(io: Io, name: string, { output, ...options }: Printed & Quotas): Promise<void> {
  const body = { name, quotas: quotasOf(options) };
  const made = await withApi(io, (api) => api.ask(Tenant, LIST, { method: 'POST', body }));
  printResult(io, output, made, `tenant ${name} made`);
  if (output === 'table') printHint(io, `next: fairlead --tenant ${name} api-token create NAME --for 30d --out FILE`);
}

async function list(io: Io, { output }: Printed): Promise<void> {
  const tenants = await withApi(io, (api) => allPages(api, TenantList, LIST, (page) => page.tenants));
  printList(io, output, {
    list: { tenants },
    name: ({ name }) => name,
    none: ['no tenants'],
    heading: ['NAME', 'CLUSTERS', 'CLIENTS', 'API TOKENS', 'GRANTS', 'AGE'],
    row: (each) => [each.name, ...amounts(each), ageText(each.createdAt, io.now())],
  });
}

async function show(io: Io, name: string, output: Printed['output']): Promise<void> {
  const tenant = await withApi(io, (api) => api.ask(Tenant, itemPath(LIST, name)));
  const [clusters, clients, tokens, grants] = amounts(tenant);
  const lines = [`clusters: ${clusters}`, `clients: ${clients}`, `API tokens: ${tokens}`, `grants: ${grants}`];
  printResult(io, output, tenant, `tenant: ${name}`, `made: ${tenant.createdAt}`, ...lines);
}

/** What it has of what it may; of tokens and grants only the latter is known here. */
function amounts({ clusters, clients, quotas }: Tenant): [string, string, string, string] {
  const of = (amount: number, limit: number | null): string => (limit === null ? `${amount}` : `${amount} of ${limit}`);
  const atMost = (limit: number | null): string => (limit === null ? 'no limit' : `at most ${limit}`);
  return [of(clusters, quotas.clusters), of(clients, quotas.clients), atMost(quotas.apiTokens), atMost(quotas.grants)];
}

async function update(io: Io, name: string, { output, ...options }: Printed & Quotas): Promise<void> {
  const path = itemPath(LIST, name);
  const changed = await withApi(io, async (api) => {
    const { quotas, revision: ifRevision } = await api.ask(Tenant, path);
    const said = Object.entries(quotasOf(options)).filter(([, value]) => value !== undefined);
    return api.ask(Tenant, `${path}/quotas`, {
      method: 'PUT',
      body: { ...quotas, ...Object.fromEntries(said) },
      ifRevision,
    });
  });
  printResult(io, output, changed, `tenant ${name} changed`);
}

async function remove(io: Io, name: string, { yes, output }: Confirmed): Promise<void> {
  const question = `Delete the tenant ${name}, with its tokens, logins, issuers and grants? Its name is not used again.`;
  if (!(await confirmed(io, question, yes))) return printLines(io, 'nothing deleted');
  await withApi(io, (api) => api.ask(z.null(), itemPath(LIST, name), { method: 'DELETE' }));
  printResult(io, output, { name, deleted: true }, `tenant ${name} deleted`);
}
