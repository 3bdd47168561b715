import { Option, type Command } from 'commander';
import { z } from 'zod';
import type { Io } from '../io.js';
import {
  ageText,
  agentText,
  distributionText,
  duplicateText,
  labelsText,
  lastErrorText,
  nodesText,
  statusCell,
} from '../output/cluster-view.js';
import { printHint, printJson, printLines, printList, printNotice, printResult, printTable } from '../output/print.js';
import { allClusters } from '../session/all-pages.js';
import { Cluster, namespaceOf } from '../session/answers.js';
import { confirmed } from '../session/prompt.js';
import { clusterPath } from '../session/paths.js';
import { addGitOpsOptions, assignCreated, plannedAssignment, type GitOpsOptions } from './cluster-gitops.js';
import { addImportCommand } from './cluster-import.js';
import { addLabelCommand } from './cluster-label.js';
import { addUpdateCommand } from './cluster-update.js';
import { VALUES_HELP, judgedOf, valuesOf, valuesOption } from './manifest-values.js';
import { collected, outputOption, pairs, wholeNumber, type Confirmed, type Printed } from './option-values.js';
import { addClusterRevocation } from './revocation.js';
import { withApi } from './with-api.js';

const CREATE_HELP = `
Examples:
  fairlead cluster create demo
  fairlead cluster create shop-eu --label zone=eu --label stage=prod
  fairlead cluster create edge-7 --links 1     # a small site: one link instead of two
  fairlead cluster create shop --gitops flux --repo catalog --path 'shops/{cluster}'
  fairlead cluster create edge-8 --values edge.yaml
  fairlead cluster create shop --allow-target 10.0.0.0/8:10250 --allow-target '*.shop.svc:443'
  fairlead cluster create edge --egress 2222=git.example.com:22 --gitops flux --repo catalog \\
    --git-through fairlead-egress.fairlead-system.svc:2222

A target is what clients of the CONNECT door may reach there, as an address block or a host name (* for a part of it)
with a port, a range of ports or *. Without any, the agent opens nothing but the Kubernetes API.

A way out is for a cluster that cannot reach its Git host: what connects to the Service fairlead-egress in fairlead-system goes there
through a gateway, whose own rules have to allow it (FAIRLEAD_EGRESS_ALLOW).
${VALUES_HELP}`;

const LIST_HELP = `
Status: online; draining, when every replica that it is linked to is stopping; offline; never, when no agent has enrolled yet.

Examples:
  fairlead cluster list --selector 'zone=eu,stage!=test,tier in (a,b),!old'
  fairlead cluster list --status offline --name 'shop-*' -o name`;

/** cluster create, list, show, delete, update, label, import, revoke. */
export function addClusterCommands(program: Command, io: Io): void {
  const cluster = program
    .command('cluster')
    .summary('register clusters, bring them in, look at them')
    .description('Register clusters, bring them in, and look at them.');
  const creation = cluster
    .command('create <name>')
    .summary('register a cluster')
    .description('Register a cluster. Nothing happens in the cluster until its import manifest is applied.')
    .addOption(new Option('--label <key=value>', 'a label; may be repeated').argParser(pairs).default({}, 'none'))
    .option('--links <n>', 'gateway replicas its agent keeps a link to, 1 to 4; 2 unless given', wholeNumber)
    .addOption(
      new Option('--allow-target <rule>', 'what its agent may open for raw TCP, as HOST:PORT; may be repeated')
        .argParser(collected)
        .default([], 'none'),
    )
    .addOption(
      new Option('--egress <port=host:port>', 'a port of its agent that leads out of the cluster; may be repeated')
        .argParser(collected)
        .default([], 'none'),
    );
  addGitOpsOptions(creation)
    .addOption(valuesOption())
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', CREATE_HELP)
    .action((name: string, options: CreateOptions) => create(io, name, options));
  cluster
    .command('list')
    .alias('ls')
    .summary('list the clusters')
    .description('List the clusters, or those that are meant.')
    .option('-l, --selector <selector>', 'by labels, as kubectl takes it')
    .addOption(new Option('--status <status>', 'by status').choices(['online', 'draining', 'offline', 'never']))
    .option('--name <pattern>', 'by name, with * for any part of it')
    .addOption(outputOption('table', 'json', 'name'))
    .addHelpText('after', LIST_HELP)
    .action((options: ListOptions) => list(io, options));
  cluster
    .command('show <name>')
    .summary('show a cluster')
    .description('Show a cluster.')
    .addOption(outputOption('table', 'json'))
    .action((name: string, options: Printed) => show(io, name, options));
  cluster
    .command('delete <name>')
    .summary('delete a cluster')
    .description('Delete a cluster: its agent loses access at once. Nothing in the cluster itself is removed.')
    .option('--yes', 'do not ask; needed where there is no terminal')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', '\nWhat is in the cluster stays there; how to take it away is said once it is deleted.')
    .action((name: string, options: Confirmed) => remove(io, name, options));
  addUpdateCommand(cluster, io);
  addLabelCommand(cluster, io);
  addImportCommand(cluster, io);
  addClusterRevocation(cluster, io);
}

interface CreateOptions extends Printed, GitOpsOptions {
  readonly label: Readonly<Record<string, string>>;
  readonly links?: number;
  readonly allowTarget: readonly string[];
  readonly egress: readonly string[];
  readonly values?: string;
}

async function create(io: Io, name: string, options: CreateOptions): Promise<void> {
  const { label: labels, links, allowTarget: targets, egress, output } = options;
  // What was not asked for is not sent: an older server knows nothing of it.
  const body = {
    name,
    labels,
    links,
    ...(targets.length === 0 ? {} : { targets }),
    ...(egress.length === 0 ? {} : { egress }),
    ...(options.gitops === undefined ? {} : { gitops: true }),
    ...(await valuesOf(options.values)),
  };
  const { cluster, advice } = await withApi(io, async (api) => {
    const assignment = await plannedAssignment(api, name, options);
    const made = await judgedOf(options.values, () => api.ask(Cluster, '/v1/clusters', { method: 'POST', body }));
    return { cluster: made, advice: assignment ? await assignCreated(api, name, assignment, options.repo) : [] };
  });
  if (output === 'json') return printJson(io, cluster);
  printLines(io, `cluster ${cluster.name} created`, ...advice);
  printHint(io, `next: fairlead cluster import ${cluster.name} | kubectl apply -f -`);
}

interface ListOptions extends Printed {
  readonly selector?: string;
  readonly status?: string;
  readonly name?: string;
}

async function list(io: Io, { output, ...filter }: ListOptions): Promise<void> {
  const clusters = await withApi(io, (api) => allClusters(api, filter));
  const filtered = Object.keys(filter).length > 0;
  printList(io, output, {
    list: { clusters },
    name: (cluster) => cluster.name,
    none: filtered ? ['no cluster is like that'] : ['no clusters yet', 'next: fairlead cluster create demo'],
    heading: ['NAME', 'STATUS', 'KUBERNETES', 'NODES', 'REPLICAS', 'LABELS', 'AGE'],
    row: (cluster) => [
      cluster.name,
      statusCell(cluster),
      `${cluster.facts?.kubernetesVersion ?? ''} ${distributionText(cluster.facts)}`.trim(),
      nodesText(cluster.facts),
      cluster.presence.replicas.join(','),
      labelsText(cluster.labels),
      ageText(cluster.createdAt, io.now()),
    ],
  });
}

async function show(io: Io, name: string, { output }: Printed): Promise<void> {
  const cluster = await withApi(io, (api) => api.ask(Cluster, clusterPath(name)));
  if (output === 'json') return printJson(io, cluster);
  const { presence, facts } = cluster;
  printTable(
    io,
    ['NAME', cluster.name],
    [
      ['id', cluster.id],
      ['status', statusCell(cluster)],
      ['since', presence.since ?? ''],
      ['replicas', presence.replicas.join(', ')],
      ['agent', presence.agents.map(agentText).join(', ')],
      ['last error', lastErrorText(presence.lastError)],
      ['kubernetes', facts?.kubernetesVersion ?? ''],
      ['distribution', distributionText(facts)],
      ['nodes', nodesText(facts)],
      ['agent can', facts?.capabilities.join(', ') ?? ''],
      ['links', String(cluster.links)],
      ['labels', labelsText(cluster.labels)],
      ['targets', cluster.targets.join(', ')],
      ['egress', cluster.egress.join(', ')],
      ['installer', cluster.gitops ? 'yes' : 'no'],
      ['namespace', namespaceOf(cluster)],
      ['values', Object.keys(cluster.manifestValues).join(', ')],
      ['created', cluster.createdAt],
      ['enrolled', cluster.enrolledAt ?? ''],
    ],
  );
  if (presence.duplicate) printLines(io, '', ...duplicateText(cluster));
}

async function remove(io: Io, name: string, { yes, output }: Confirmed): Promise<void> {
  const question = `Delete the cluster ${name}? Its agent loses access at once.`;
  if (!(await confirmed(io, question, yes))) return printLines(io, 'nothing deleted');
  const cluster = await withApi(io, async (api) => {
    // Only for what is said afterwards: why it cannot be deleted, the deletion says.
    const known = await api.ask(Cluster, clusterPath(name)).catch(() => null);
    await api.ask(z.null(), clusterPath(name), { method: 'DELETE' });
    return known;
  });
  printResult(io, output, { name, deleted: true }, `cluster ${name} deleted`);
  if (!cluster?.enrolledAt) return;
  printNotice(
    io,
    'to clean up in the cluster itself:',
    `  kubectl delete namespace ${namespaceOf(cluster)}`,
    '  kubectl delete clusterrole,clusterrolebinding -l app.kubernetes.io/part-of=fairlead',
  );
}
