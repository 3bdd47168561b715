import type { Command } from 'commander';
import { z } from 'zod';
import type { Io } from '../io.js';
import { ageText } from '../output/cluster-view.js';
import { printHint, printJson, printLines, printList, printResult } from '../output/print.js';
import { Lockdown, LockdownList } from '../session/access-answers.js';
import { clusterPath } from '../session/paths.js';
import { confirmed } from '../session/prompt.js';
import { outputOption, type Confirmed, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

const LOCKDOWN_HELP = `
Within two seconds nobody gets in, people and programs, and what stands is cut off. The installation's own administrator token still works:
it is the way in while everything else is shut. Agents stay linked, and GitOps goes on.

Examples:
  fairlead access lockdown prod --reason 'a laptop was stolen'
  fairlead access lockdown --reason 'incident 7'     # every cluster
  fairlead access unlock prod`;

interface LockOptions extends Confirmed {
  readonly reason: string;
}

/** access lockdown, lockdowns, unlock. */
export function addLockdownCommands(access: Command, io: Io): void {
  access
    .command('lockdown [cluster]')
    .summary('shut everybody out of a cluster, or of all')
    .description('Shut everybody out of a cluster, or of all of them, until it is lifted.')
    .requiredOption('--reason <text>', 'why; whoever is kept out sees it')
    .option('--yes', 'do not ask; needed where there is no terminal')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', LOCKDOWN_HELP)
    .action((cluster: string | undefined, options: LockOptions) => lock(io, cluster, options));
  access
    .command('lockdowns')
    .summary('list what is locked down')
    .description('List what is locked down.')
    .addOption(outputOption('table', 'json'))
    .action((options: Printed) => list(io, options));
  access
    .command('unlock [cluster]')
    .summary('lift the lockdown of a cluster, or that of all')
    .description('Lift the lockdown of a cluster, or that of all of them. What is granted counts again.')
    .option('--yes', 'do not ask; needed where there is no terminal')
    .addOption(outputOption('table', 'json'))
    .action((cluster: string | undefined, options: Confirmed) => unlock(io, cluster, options));
}

async function lock(io: Io, cluster: string | undefined, { reason, yes, output }: LockOptions): Promise<void> {
  const question = `Shut everybody out of ${meant(cluster)}? What stands is cut off.`;
  if (!(await confirmed(io, question, yes))) return printLines(io, 'nothing locked down');
  const ask = { method: 'PUT', body: { reason } } as const;
  const lockdown = await withApi(io, (api) => api.ask(Lockdown, pathOf(cluster), ask));
  if (output === 'json') return printJson(io, lockdown);
  printLines(io, `${meant(cluster)} locked down by ${lockdown.by} at ${lockdown.at}: ${lockdown.reason}`);
  printHint(io, `to lift it: ${unlockCommand(cluster)}`);
}

async function list(io: Io, { output }: Printed): Promise<void> {
  const { lockdowns } = await withApi(io, (api) => api.ask(LockdownList, '/v1/lockdowns'));
  printList(io, output, {
    list: { lockdowns },
    name: ({ cluster }) => cluster ?? '',
    none: ['nothing is locked down'],
    heading: ['WHERE', 'BY', 'AGE', 'REASON'],
    row: (each) => [each.cluster ?? 'all clusters', each.by, ageText(each.at, io.now()), each.reason],
  });
}

async function unlock(io: Io, cluster: string | undefined, { yes, output }: Confirmed): Promise<void> {
  const question = `Let everybody who is granted something into ${meant(cluster)} again?`;
  if (!(await confirmed(io, question, yes))) return printLines(io, 'nothing lifted');
  await withApi(io, (api) => api.ask(z.null(), pathOf(cluster), { method: 'DELETE' }));
  printResult(io, output, { cluster: cluster ?? null, locked: false }, `lockdown of ${meant(cluster)} lifted`);
}

function pathOf(cluster: string | undefined): string {
  return cluster === undefined ? '/v1/lockdown' : `${clusterPath(cluster)}/lockdown`;
}

function meant(cluster: string | undefined): string {
  return cluster === undefined ? 'all clusters' : `the cluster ${cluster}`;
}

function unlockCommand(cluster: string | undefined): string {
  return ['fairlead access unlock', ...(cluster === undefined ? [] : [cluster])].join(' ');
}
