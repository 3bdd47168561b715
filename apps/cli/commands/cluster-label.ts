import type { Command } from 'commander';
import { usage } from '../failure.js';
import type { Io } from '../io.js';
import { labelsText } from '../output/cluster-view.js';
import { printHint, printResult } from '../output/print.js';
import { shellWord } from '../output/shell-word.js';
import { Cluster } from '../session/answers.js';
import { clusterPath } from '../session/paths.js';
import { outputOption, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

const LABEL_HELP = `
Keys and values are as in Kubernetes. A label that is there is changed; KEY- takes it away. It counts at once: assignments that select clusters by
labels may then select this one, or no longer.

Examples:
  fairlead cluster label shop-eu zone=eu stage=prod
  fairlead cluster label shop-eu stage-`;

/** cluster label. */
export function addLabelCommand(cluster: Command, io: Io): void {
  cluster
    .command('label <name> <changes...>')
    .summary('add, change or take away labels of a cluster')
    .description('Add, change or take away labels of a cluster, as KEY=VALUE and KEY-.')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', LABEL_HELP)
    .action((name: string, changes: readonly string[], options: Printed) => label(io, name, changes, options));
}

async function label(io: Io, name: string, changes: readonly string[], { output }: Printed): Promise<void> {
  const labels = parseChanges(changes);
  const cluster = await withApi(io, (api) =>
    api.ask(Cluster, clusterPath(name), { method: 'PATCH', body: { labels } }),
  );
  const now = labelsText(cluster.labels);
  printResult(io, output, cluster, `cluster ${cluster.name} has ${now === '' ? 'no labels' : `the labels ${now}`}`);
  if (output !== 'json') printHint(io, `what it follows now: fairlead gitops status ${shellWord(cluster.name)}`);
}

/** Null: to be taken away. */
function parseChanges(changes: readonly string[]): Record<string, string | null> {
  const labels = new Map<string, string | null>();
  for (const change of changes) {
    const [, key, value] = /^([^=]+)=(.*)$/s.exec(change) ?? [];
    const [, gone] = /^([^=]+)-$/s.exec(change) ?? [];
    const changed = key ?? gone;
    if (changed === undefined)
      throw usage(`"${change}" is no change of a label`, 'write KEY=VALUE, or KEY- to take it away');
    if (labels.has(changed)) throw usage(`${changed} is changed twice`, 'say once what it is to be');
    labels.set(changed, value ?? null);
  }
  return Object.fromEntries(labels);
}
