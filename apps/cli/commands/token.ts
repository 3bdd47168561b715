import type { Command } from 'commander';
import type { Io } from '../io.js';
import { ageText } from '../output/cluster-view.js';
import { printHint, printJson, printLines, printList, type Cell } from '../output/print.js';
import { allPages } from '../session/all-pages.js';
import { BootstrapToken, BootstrapTokenList } from '../session/answers.js';
import { confirmed } from '../session/prompt.js';
import { clusterPath } from '../session/paths.js';
import { outputOption, type Confirmed, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

const REVOKE_HELP = `
What it enrolled keeps its certificate. To end that, too:
  fairlead cluster revoke <cluster> --reason TEXT`;

/** token list, revoke. */
export function addTokenCommands(program: Command, io: Io): void {
  const token = program
    .command('token')
    .summary('look at bootstrap tokens, revoke them')
    .description('Look at the bootstrap tokens of clusters, and revoke them. Their secrets are kept nowhere.');
  token
    .command('list <cluster>')
    .alias('ls')
    .summary('list the bootstrap tokens of a cluster')
    .description('List the bootstrap tokens that were in the import manifests of a cluster, newest first.')
    .addOption(outputOption('table', 'json', 'name'))
    .action((cluster: string, options: Printed) => list(io, cluster, options));
  token
    .command('revoke <cluster> <id>')
    .summary('revoke a bootstrap token')
    .description('Revoke a bootstrap token: nobody gets an identity by it from then on. It cannot be undone.')
    .option('--yes', 'do not ask; needed where there is no terminal')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', REVOKE_HELP)
    .action((cluster: string, id: string, options: Confirmed) => revoke(io, cluster, id, options));
}

async function list(io: Io, cluster: string, { output }: Printed): Promise<void> {
  const path = tokensPath(cluster);
  const tokens = await withApi(io, (api) => allPages(api, BootstrapTokenList, path, (page) => page.tokens));
  printList(io, output, {
    list: { tokens },
    name: ({ id }) => id,
    none: [`${cluster} was never imported`],
    heading: ['ID', 'STATE', 'AGE', 'EXPIRES', 'USED BY'],
    row: (each) => [
      each.id,
      stateCell(each),
      ageText(each.createdAt, io.now()),
      each.expiresAt,
      each.usedBy === null ? '' : `${each.usedBy.fingerprint} (enrolment ${each.usedBy.generation})`,
    ],
  });
}

async function revoke(io: Io, cluster: string, id: string, { yes, output }: Confirmed): Promise<void> {
  if (!(await confirmed(io, `Revoke the bootstrap token ${id}? It cannot be undone.`, yes))) {
    return printLines(io, 'nothing revoked');
  }
  const path = `${tokensPath(cluster)}/${encodeURIComponent(id)}/revocation`;
  const token = await withApi(io, (api) => api.ask(BootstrapToken, path, { method: 'POST' }));
  if (output === 'json') return printJson(io, token);
  printLines(io, `token ${token.id} revoked`);
  if (token.usedBy === null) return;
  printHint(io, `it was used before, and what it enrolled stays: fairlead cluster revoke ${cluster} --reason TEXT`);
}

function tokensPath(cluster: string): string {
  return `${clusterPath(cluster)}/bootstrap-tokens`;
}

function stateCell({ state }: BootstrapToken): Cell {
  return state === 'unused' ? { text: state, colour: 'yellow' } : state;
}
