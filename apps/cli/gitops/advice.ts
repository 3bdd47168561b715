import type { ApiClient } from '../session/api-client.js';
import { CatalogList, DeployKeyList, GitHostList, type ClusterGitOps } from '../session/gitops-answers.js';
import { clusterPath } from '../session/paths.js';
import { findAssignment } from './assignments.js';

/** What somebody has to do before clusters can follow a repository; empty: nothing. */
export async function repositoryAdvice(api: ApiClient, repository: string | null): Promise<string[]> {
  if (repository === null) return [];
  const { repositories } = await api.ask(CatalogList, '/v1/catalog-repositories');
  const gitHost = repositories.find(({ name }) => name === repository)?.gitHost;
  const { hosts } = await api.ask(GitHostList, '/v1/git-hosts');
  const host = hosts.find(({ name }) => name === gitHost);
  if (!host) return [];
  const problem = host.problem === null ? [] : [`${host.name}: ${host.problem.code}: ${host.problem.message}`];
  if (host.hostKeys.some(({ state }) => state === 'approved')) return problem;
  const scan = host.hostKeys.length === 0 ? [`fairlead git-host scan ${host.name}`] : [];
  const approve = `fairlead git-host approve ${host.name}`;
  return [...problem, `the host keys of ${host.name} are not approved: ${[...scan, approve].join(', then ')}`];
}

/** The same for a cluster that waits for a person; and which of its old keys are, or may be, on the Git host still. */
export async function clusterAdvice(api: ApiClient, status: ClusterGitOps): Promise<string[]> {
  const waits = status.waitsFor !== null && status.assignment !== null;
  if (!waits && status.deployKey === null) return [];
  const { keys } = await api.ask(DeployKeyList, `${clusterPath(status.name)}/gitops/deploy-keys`);
  return [...(waits ? await waitAdvice(api, status, keys) : []), ...withdrawalAdvice(keys)];
}

type DeployKeys = DeployKeyList['keys'];

function withdrawalAdvice(keys: DeployKeys): string[] {
  return keys.flatMap(({ number, state, instructions, problem }) => {
    if (state === 'removing') {
      const why = problem ? `: ${problem.code}: ${problem.message}` : '';
      return [`deploy key ${number} is still to be removed from the Git host${why}`];
    }
    return state === 'removed' && instructions ? [`deploy key ${number} is withdrawn. ${instructions}`] : [];
  });
}

async function waitAdvice(api: ApiClient, status: ClusterGitOps, keys: DeployKeys): Promise<string[]> {
  const assignment = status.assignment === null ? undefined : await findAssignment(api, status.assignment);
  const byHand = keys.flatMap(({ state, instructions }) => (state === 'by-hand' && instructions ? [instructions] : []));
  const refused = keys.flatMap(({ number, state, problem }) =>
    problem && state !== 'removing' ? [`deploy key ${number}: ${problem.code}: ${problem.message}`] : [],
  );
  return [...(await repositoryAdvice(api, assignment?.repository ?? null)), ...byHand, ...refused];
}
