import { Option, type Command } from 'commander';
import { usage } from '../failure.js';
import { repositoryAdvice } from '../gitops/advice.js';
import { changeAssignment, findAssignment } from '../gitops/assignments.js';
import type { Io } from '../io.js';
import { printJson, printLines, type Format } from '../output/print.js';
import { shellWord } from '../output/shell-word.js';
import { Cluster, namespaceOf } from '../session/answers.js';
import type { ApiClient } from '../session/api-client.js';
import { ClusterGitOps } from '../session/gitops-answers.js';
import { clusterPath } from '../session/paths.js';
import { addFollowOptions, plannedAssignment, type GitOpsOptions } from './cluster-gitops.js';
import { VALUES_HELP, judgedOf, valuesOf, valuesOption } from './manifest-values.js';
import { TOOLS, collected, outputOption, wholeNumber } from './option-values.js';
import { withApi } from './with-api.js';

const UPDATE_HELP = `
It changes what the import manifest says; nothing happens in the cluster until that is applied there once more. The agent starts anew with it,
keeps its identity, and needs no token. What is not said stays as it is; of what may be repeated, those that are named are all from then on.
${VALUES_HELP}

Examples:
  fairlead cluster update shop --gitops flux --repo catalog     # imported without it before
  fairlead cluster update edge --egress 2222=git.example.com:22
  fairlead cluster update edge --values edge.yaml
  fairlead cluster import shop | kubectl apply -f -`;

interface UpdateOptions extends GitOpsOptions {
  readonly links?: number;
  readonly allowTarget?: readonly string[] | false;
  readonly egress?: readonly string[] | false;
  readonly values?: string;
  readonly output: Format;
}

/** cluster update. */
export function addUpdateCommand(cluster: Command, io: Io): void {
  const update = cluster
    .command('update <name>')
    .summary('change what a cluster is brought in with')
    .description('Change what a cluster is brought in with, also of one that was.')
    .option('--links <n>', 'gateway replicas its agent keeps a link to, 1 to 4', wholeNumber)
    .addOption(
      new Option('--allow-target <rule>', 'what its agent may open for raw TCP; may be repeated').argParser(listed),
    )
    .option('--no-allow-target', 'nothing')
    .addOption(
      new Option('--egress <port=host:port>', 'a port that leads out of it; may be repeated').argParser(listed),
    )
    .option('--no-egress', 'none')
    .addOption(valuesOption())
    .addOption(new Option('--gitops <tool>', 'with an installer, or without').choices([...TOOLS, 'off']));
  addFollowOptions(update)
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', UPDATE_HELP)
    .action((name: string, options: UpdateOptions) => updateCluster(io, name, options));
}

function listed(text: string, before: readonly string[] | false | undefined): readonly string[] {
  return collected(text, before || undefined);
}

async function updateCluster(io: Io, name: string, options: UpdateOptions): Promise<void> {
  const { links, allowTarget: targets, egress, gitops, output } = options;
  const body = {
    ...(links === undefined ? {} : { links }),
    ...(targets === undefined ? {} : { targets: targets || [] }),
    ...(egress === undefined ? {} : { egress: egress || [] }),
    ...(gitops === undefined ? {} : { gitops: gitops !== 'off' }),
    ...(await valuesOf(options.values)),
  };
  if (Object.keys(body).length === 0)
    throw usage('it is not said what to change', 'add --gitops flux, --egress or --values');
  const { before, cluster, said } = await withApi(io, async (api) => {
    const known = await api.ask(Cluster, clusterPath(name));
    const follows = await assignmentFor(api, name, options);
    const changed = await judgedOf(options.values, () =>
      api.ask(Cluster, clusterPath(name), { method: 'PATCH', body }),
    );
    return { before: known, cluster: changed, said: await follows() };
  });
  if (output === 'json') return printJson(io, cluster);
  const changed = `cluster ${cluster.name} changed; it takes effect when its import manifest is applied there again:`;
  printLines(io, changed, `  fairlead cluster import ${shellWord(cluster.name)} | kubectl apply -f -`, ...said);
  printLines(io, ...leftOver(before, cluster));
}

/** Once all that it names was found to be there: what makes the assignment, and tells of it. */
async function assignmentFor(api: ApiClient, name: string, options: UpdateOptions): Promise<() => Promise<string[]>> {
  const { gitops, repo } = options;
  const none = async (): Promise<string[]> => [];
  if (gitops === 'off') {
    await plannedAssignment(api, name, { ...options, gitops: undefined });
    return none;
  }
  const { repo: _repo, branch, path, bundle, gitThrough } = options;
  const saysMore = [repo, branch, path, bundle, gitThrough].some((each) => each !== undefined);
  if (gitops !== undefined && !saysMore) {
    const { assignment } = await api.ask(ClusterGitOps, `${clusterPath(name)}/gitops`);
    if (assignment !== null) return async () => [`it follows the assignment ${assignment}, which selects it already`];
  }
  if (gitops !== undefined && (await findAssignment(api, name))) {
    throw usage(`there is an assignment ${name} already`, `change that one: fairlead gitops assign ${shellWord(name)}`);
  }
  const planned = await plannedAssignment(api, name, options);
  if (!planned) return none;
  return async () => {
    await changeAssignment(api, name, undefined, planned);
    return [`assignment ${name} made`, ...(await repositoryAdvice(api, repo ?? null))];
  };
}

/** What applying a manifest does not take away. */
function leftOver(before: Cluster, after: Cluster): string[] {
  const namespace = namespaceOf(before);
  const remove = `kubectl --namespace ${namespace} delete`;
  return [
    ...(namespace === namespaceOf(after)
      ? []
      : [
          `it enrols anew in its new namespace; once its pods are ready there (kubectl --namespace ${namespaceOf(after)} rollout status deployment/fairlead-agent), remove the old one:`,
          `  kubectl delete namespace ${namespace}`,
        ]),
    ...(before.gitops && !after.gitops
      ? [
          'what its tool is to become, say first: fairlead gitops unassign --help; then remove the installer:',
          `  ${remove} deployment/fairlead-installer && kubectl delete clusterrolebinding/fairlead-installer`,
        ]
      : []),
    ...(before.egress.length > 0 && after.egress.length === 0
      ? ['then remove the Service of the way out:', `  ${remove} service/fairlead-egress`]
      : []),
  ];
}
