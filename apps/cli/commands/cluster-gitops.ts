import { Option, type Command } from 'commander';
import { FairleadError } from '@fairlead/errors';
import { failure, usage } from '../failure.js';
import { repositoryAdvice } from '../gitops/advice.js';
import { assignNewCluster, bundleVersion, checkRepository } from '../gitops/assignments.js';
import type { ApiClient } from '../session/api-client.js';
import { TOOLS } from './option-values.js';

export interface GitOpsOptions {
  readonly gitops?: string | undefined;
  readonly repo?: string;
  readonly branch?: string;
  readonly path?: string;
  readonly bundle?: string;
  readonly gitThrough?: string;
}

/** What `cluster create` takes besides, so that a cluster follows a repository from its first minute. */
export function addGitOpsOptions(create: Command): Command {
  return addFollowOptions(
    create.addOption(new Option('--gitops <tool>', 'install this tool, and keep it in repair').choices(TOOLS)),
  );
}

/** What the tool is to follow. */
export function addFollowOptions(command: Command): Command {
  return command
    .option('--repo <name>', 'the catalog repository that it follows: fairlead catalog list')
    .option('--branch <branch>', 'the default branch unless given')
    .option('--path <path>', 'below the root of the repository; clusters/{cluster} unless given')
    .option(
      '--git-through <host:port>',
      'where the cluster dials the Git host: its name with another port, or a Service of its own',
    )
    .option('--bundle <version>', 'of the tool: fairlead bundle list; the one imported last unless given');
}

/** The assignment that is wanted for a new cluster; undefined: none. All that it names is there. */
export async function plannedAssignment(
  api: ApiClient,
  name: string,
  options: GitOpsOptions,
): Promise<object | undefined> {
  const { gitops: tool, repo, branch, path, bundle, gitThrough } = options;
  if (tool === undefined) {
    if ([repo, branch, path, bundle, gitThrough].every((each) => each === undefined)) return undefined;
    throw usage('--repo, --branch, --path and --bundle say what a GitOps tool follows', 'add --gitops flux');
  }
  if (repo === undefined && [branch, path, gitThrough].some((each) => each !== undefined)) {
    throw usage('--branch, --path and --git-through are of a repository', 'add --repo NAME: fairlead catalog list');
  }
  const repository = repo === undefined ? undefined : await checkRepository(api, repo);
  if (repository?.defaultBranch === null && branch === undefined) {
    throw usage(`the Git host of ${repository.name} names no default branch`, 'add --branch NAME, such as main');
  }
  return {
    selector: { cluster: name },
    tool,
    bundleVersion: await bundleVersion(api, tool, bundle),
    repository: repo ?? null,
    // JSON leaves out what is undefined.
    branch,
    path,
    gitThrough,
  };
}

/** Puts it, and answers what somebody still has to do. The cluster is there already: an error says how to go on. */
export async function assignCreated(
  api: ApiClient,
  name: string,
  assignment: object,
  repo?: string,
): Promise<string[]> {
  try {
    await assignNewCluster(api, name, assignment);
  } catch (error) {
    if (!(error instanceof FairleadError)) throw error;
    const next = `fairlead gitops assign ${name} --cluster ${name}${repo === undefined ? '' : ` --repo ${repo}`}`;
    throw failure(error.code, `cluster ${name} is created, but follows nothing: ${error.message}`, next, error);
  }
  return repositoryAdvice(api, repo ?? null);
}
