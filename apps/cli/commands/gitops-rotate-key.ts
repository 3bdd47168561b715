import type { Command } from 'commander';
import { FairleadError, messageOf } from '@fairlead/errors';
import { failure, usage } from '../failure.js';
import type { Io } from '../io.js';
import { printHint, printJson, printLines, printTable, type Format } from '../output/print.js';
import type { ApiClient } from '../session/api-client.js';
import { CatalogList, RotatedDeployKey, type ClusterGitOps } from '../session/gitops-answers.js';
import { clusterPath } from '../session/paths.js';
import { confirmed } from '../session/prompt.js';
import { allStatuses } from './gitops-status.js';
import { outputOption } from './option-values.js';
import { withApi } from './with-api.js';

const HELP = `
The next key is tried before the old one goes: no fetch fails for it. Keys are also replaced by schedule: fairlead catalog add --help.

With --compromised the keys that the cluster has leave the Git host at once, whether or not it can be reached now, and a rotation that is under way
is over. Until its new key is there, the cluster fetches nothing; what it runs stays. Another cluster that has the same key, as one that was
restored from its backup, loses it too, and is named. With --all, clusters count too that follow something else by now, while a key of theirs is
still to leave the repository. A cluster that was just deleted has to be named.

Examples:
  fairlead gitops rotate-key demo
  fairlead gitops rotate-key demo --compromised
  fairlead gitops rotate-key --all --repo catalog --compromised    # of all clusters that follow it; asks first
  fairlead gitops rotate-key --all --host main --yes`;

/** Requests of one command at once. The Git host itself is asked by the control plane, at its own pace. */
const PARALLEL = 4;

interface RotateOptions {
  readonly compromised?: true;
  readonly all?: true;
  readonly repo?: string;
  readonly host?: string;
  readonly yes?: true;
  readonly output: Format;
}

interface Outcome {
  readonly name: string;
  /** Null: it was begun. */
  readonly problem: { readonly code: string; readonly message: string } | null;
  /** Clusters that had the same key. */
  readonly alsoReplaced?: readonly string[];
}

/** gitops rotate-key. */
export function addRotateKeyCommand(gitops: Command, io: Io): void {
  gitops
    .command('rotate-key [cluster]')
    .summary('replace the deploy key of a cluster')
    .description('Replace the deploy key of a cluster, or of all that follow a repository or a Git host.')
    .option('--compromised', 'withdraw the present keys first, before there is another one')
    .option('--all', 'of all clusters of --repo or --host')
    .option('--repo <catalog>', 'of the clusters that follow this catalog repository')
    .option('--host <git-host>', 'of the clusters that follow any repository of this Git host')
    .option('--yes', 'with --all: do not ask; needed where there is no terminal')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', HELP)
    .action((cluster: string | undefined, options: RotateOptions) => rotateKey(io, cluster, options));
}

async function rotateKey(io: Io, cluster: string | undefined, options: RotateOptions): Promise<void> {
  const { all, repo, host } = options;
  if (all) {
    if (cluster !== undefined) throw usage('--all and a cluster say different things', 'drop one');
    if ((repo === undefined) === (host === undefined)) {
      throw usage('it is not said of which clusters', 'add --repo CATALOG, or --host GIT-HOST');
    }
    return rotateAll(io, options);
  }
  if (cluster === undefined) throw usage('no cluster is named', 'name it: fairlead gitops rotate-key CLUSTER');
  if (repo !== undefined || host !== undefined)
    throw usage('--repo and --host go with --all', 'add --all, or drop them');
  const after = await withApi(io, (api) => rotate(api, cluster, options));
  if (options.output === 'json') return printJson(io, after);
  printLines(io, options.compromised ? `${after.name}: ${WITHDRAWN}` : `${after.name} makes its next deploy key`);
  for (const other of after.alsoReplaced ?? []) printLines(io, `${other} ${SAME_KEY}`);
  printHint(io, `how far it is: fairlead gitops status ${after.name}`);
}

const WITHDRAWN = 'its keys are withdrawn, and it makes another one';
const SAME_KEY = 'had the same key: it is withdrawn there, too';

function rotate(api: ApiClient, cluster: string, { compromised }: RotateOptions): Promise<RotatedDeployKey> {
  const path = `${clusterPath(cluster)}/gitops/deploy-key-rotation${compromised ? '?reason=compromise' : ''}`;
  return api.ask(RotatedDeployKey, path, { method: 'POST' });
}

async function rotateAll(io: Io, options: RotateOptions): Promise<void> {
  const { compromised, yes, output } = options;
  const outcomes = await withApi(io, async (api) => {
    const found = await followers(api, options);
    const names = found.filter(({ deployKey }) => compromised || !deployKey?.rotating).map(({ name }) => name);
    if (names.length === 0) return [];
    const consequence = compromised
      ? 'Their keys are withdrawn at once, and they fetch nothing until they have others.'
      : 'No fetch fails for it.';
    // On the other stream than what was asked for.
    printHint(io, ...names);
    const question = `Replace the deploy keys of these ${names.length} clusters? ${consequence}`;
    return (await confirmed(io, question, yes)) ? rotateEach(api, names, options) : null;
  });
  if (outcomes === null) return printLines(io, 'nothing rotated');
  if (output === 'json') printJson(io, { clusters: outcomes });
  else if (outcomes.length === 0) printHint(io, 'no cluster has a key there that is not being replaced already');
  else {
    const begun = compromised ? WITHDRAWN : 'it makes its next deploy key';
    const rows = outcomes.map(({ name, problem }) => [name, problem ? `${problem.code}: ${problem.message}` : begun]);
    printTable(io, ['NAME', 'WHAT'], rows);
    const shared = new Set(outcomes.flatMap(({ alsoReplaced = [] }) => alsoReplaced));
    for (const other of [...shared].toSorted()) printLines(io, `${other} ${SAME_KEY}`);
  }
  const failed = outcomes.filter(({ problem }) => problem !== null);
  const first = failed[0]?.problem;
  if (!first) return;
  const what = `${failed.length} of ${outcomes.length} keys are not being replaced: ${failed.map(({ name }) => name).join(', ')}`;
  throw failure('UNAVAILABLE', what, 'the same command again is safe');
}

/** Clusters that have a key in the repository, or in any of the Git host: if it is to be withdrawn, those too that have left, and their keys not yet. */
async function followers(api: ApiClient, { repo, host, compromised }: RotateOptions): Promise<ClusterGitOps[]> {
  const { repositories } = await api.ask(CatalogList, '/v1/catalog-repositories');
  const chosen = repositories.filter(({ name, gitHost }) => (repo === undefined ? gitHost === host : name === repo));
  if (chosen.length === 0) {
    const what = repo === undefined ? `no catalog repository is of the Git host ${host}` : `there is no ${repo}`;
    throw failure('NOT_FOUND', what, 'see which there are: fairlead catalog list');
  }
  const names = new Set(chosen.map(({ name }) => name));
  const clusters = await allStatuses(api);
  return clusters.filter(({ deployKey }) => {
    if (!deployKey) return false;
    const { repository, withdrawingFrom } = deployKey;
    return [repository, ...(compromised ? withdrawingFrom : [])].some((name) => name !== null && names.has(name));
  });
}

/** What fails for one does not keep the others from it. */
async function rotateEach(api: ApiClient, names: readonly string[], options: RotateOptions): Promise<Outcome[]> {
  const waiting = [...names];
  const outcomes: Outcome[] = [];
  const worker = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const outcome = await rotate(api, name, options).then(
        ({ alsoReplaced = [] }) => ({ name, problem: null, ...(alsoReplaced.length > 0 ? { alsoReplaced } : {}) }),
        (error: unknown) => ({ name, problem: problemOf(error) }),
      );
      outcomes.push(outcome);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
  return outcomes.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function problemOf(error: unknown): Outcome['problem'] {
  return { code: error instanceof FairleadError ? error.code : 'INTERNAL', message: messageOf(error) };
}
