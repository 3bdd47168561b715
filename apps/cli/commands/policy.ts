import { Argument, type Command } from 'commander';
import type { Io } from '../io.js';
import { printResult, type Format } from '../output/print.js';
import { ShownPolicy } from '../session/answers.js';
import { clusterPath } from '../session/paths.js';
import { outputOption } from './option-values.js';
import { withApi } from './with-api.js';

interface Where {
  readonly output: Format;
  readonly cluster?: string;
}

export const POLICIES = ['always-reject', 'queue', 'webhook', 'token', 'insecure-always-approve'];

const SET_HELP = `
  token           whoever has a bootstrap token gets in (the default)
  queue           an administrator approves each agent: fairlead request list
  webhook         a program of yours decides, and an administrator while it gives no answer
  always-reject   nobody gets in
  insecure-always-approve
                  everybody gets in, without a token too; needs a flag in the configuration
  inherit         no choice here: the tenant's counts, else the configuration's`;

/** policy show, set. */
export function addPolicyCommands(program: Command, io: Io): void {
  const policy = program
    .command('policy')
    .summary('who decides whether an agent gets in')
    .description('Who decides whether an agent gets in: for all clusters, or for one.');
  policy
    .command('show')
    .summary('show the policy')
    .description('Show the policy of all clusters, or of one.')
    .option('--cluster <name>', 'of this cluster')
    .addOption(outputOption('table', 'json'))
    .action((where: Where) => show(io, where));
  policy
    .command('set')
    .summary('choose the policy')
    .description('Choose the policy of all clusters, or of one.')
    .addArgument(new Argument('<policy>').choices([...POLICIES, 'inherit']))
    .option('--cluster <name>', 'for this cluster only')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', SET_HELP)
    .action((chosen: string, where: Where) => set(io, chosen, where));
}

async function show(io: Io, where: Where): Promise<void> {
  print(io, await withApi(io, (api) => api.ask(ShownPolicy, pathOf(where))), where);
}

async function set(io: Io, chosen: string, where: Where): Promise<void> {
  const body = { policy: chosen === 'inherit' ? null : chosen };
  print(io, await withApi(io, (api) => api.ask(ShownPolicy, pathOf(where), { method: 'PUT', body })), where);
}

function print(io: Io, shown: { set: string | null; effective: string }, { output }: Where): void {
  printResult(io, output, shown, shown.set === null ? `${shown.effective} (inherited)` : shown.effective);
}

function pathOf({ cluster }: Where): string {
  return cluster === undefined ? '/v1/approval-policy' : `${clusterPath(cluster)}/approval-policy`;
}
