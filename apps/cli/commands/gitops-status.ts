import type { Command } from 'commander';
import { usage } from '../failure.js';
import { clusterAdvice } from '../gitops/advice.js';
import { watchCluster } from '../gitops/watch-cluster.js';
import type { Io } from '../io.js';
import { healthCell, printStatus, clusterProblemText } from '../output/gitops-view.js';
import { printHint, printJson, printLines, printList, printTable } from '../output/print.js';
import { allPages } from '../session/all-pages.js';
import type { ApiClient } from '../session/api-client.js';
import { ClusterGitOps, ClusterGitOpsList, ObjectEvents } from '../session/gitops-answers.js';
import { clusterPath } from '../session/paths.js';
import { durationSeconds, outputOption, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

const STATUS_HELP = `
Health: healthy; progressing; drifted (not what is wanted, or not for long); failed (somebody has to look); unknown (no report, or none
for long); unassigned. Exit status of --wait: 0 once it is healthy, 1 if it is not in time, or its installer gave up. While Fairlead itself is
away, both go on.

Examples:
  fairlead gitops status
  fairlead gitops status demo
  fairlead gitops status demo --wait --timeout 5m
  fairlead gitops status demo --watch                # every change, until --timeout or Ctrl-C`;

const STATUSES = '/v1/gitops/clusters';

interface StatusOptions extends Printed {
  readonly wait?: true;
  readonly watch?: true;
  readonly timeout: number;
}

/** gitops status, events. */
export function addGitOpsStatusCommands(gitops: Command, io: Io): void {
  gitops
    .command('status [cluster]')
    .summary('tell how clusters are')
    .description('Tell how all clusters are, or one.')
    .option('--wait', 'wait until the cluster is healthy')
    .option('--watch', 'print each change')
    .option('--timeout <duration>', 'for no longer than this; 10m unless given', durationSeconds, 600)
    .addOption(outputOption('table', 'json', 'name'))
    .addHelpText('after', STATUS_HELP)
    .action((cluster: string | undefined, options: StatusOptions) => status(io, cluster, options));
  gitops
    .command('events <cluster>')
    .summary('tell what was repaired')
    .description('Tell what the installer of a cluster did: the newest 200 steps.')
    .addOption(outputOption('table', 'json'))
    .action((cluster: string, options: Printed) => events(io, cluster, options));
}

async function status(io: Io, cluster: string | undefined, options: StatusOptions): Promise<void> {
  const { wait, watch, timeout, output } = options;
  if (wait && watch) throw usage('--wait and --watch say different things', 'drop one');
  if (cluster === undefined) {
    if (wait || watch) throw usage('one cluster is waited for at a time', 'name it: fairlead gitops status CLUSTER');
    return statuses(io, options);
  }
  await withApi(io, async (api) => {
    if (wait || watch) {
      const until = wait ? 'healthy' : 'deadline';
      return watchCluster(io, api, cluster, { until, timeoutMs: timeout * 1_000, json: output === 'json' });
    }
    const one = await api.ask(ClusterGitOps, `${clusterPath(cluster)}/gitops`);
    if (output === 'json') return printJson(io, one);
    if (output === 'name') return printLines(io, one.name);
    printStatus(io, one);
    for (const line of await clusterAdvice(api, one)) printLines(io, '', line);
  });
}

async function statuses(io: Io, { output }: Printed): Promise<void> {
  const clusters = await withApi(io, allStatuses);
  printList(io, output, {
    list: { clusters },
    name: ({ name }) => name,
    none: ['no clusters yet', 'next: fairlead cluster create demo --gitops flux'],
    heading: ['NAME', 'HEALTH', 'ASSIGNMENT', 'TOOL', 'REVISION', 'FOLLOWS', 'PROBLEM'],
    row: (each) => [
      each.name,
      healthCell(each),
      each.assignment ?? '',
      each.wish === null ? '' : `${each.wish.tool} ${each.wish.bundle.version}`,
      `${each.report?.appliedRevision ?? 0}/${each.revision}`,
      each.report?.sync?.revision ?? each.report?.source?.revision ?? '',
      clusterProblemText(each),
    ],
  });
}

export function allStatuses(api: ApiClient): Promise<ClusterGitOps[]> {
  return allPages(api, ClusterGitOpsList, STATUSES, ({ clusters }) => clusters);
}

async function events(io: Io, cluster: string, { output }: Printed): Promise<void> {
  const history = await withApi(io, (api) => api.ask(ObjectEvents, `${clusterPath(cluster)}/gitops/events`));
  if (output === 'json') return printJson(io, history);
  if (history.events.length === 0) return printHint(io, `the installer of ${cluster} has told nothing yet`);
  printTable(
    io,
    ['AT', 'STEP', 'OBJECT', 'WHAT'],
    history.events.map(({ at, step, object, message }) => [at, step, object, message]),
  );
}
