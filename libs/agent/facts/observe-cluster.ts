import { ClusterRoleName, groupOfRole } from '@fairlead/access-rules';
import { messageOf } from '@fairlead/errors';
import { askKube } from '@fairlead/kube/ask-kube';
import type { AgentFacts, AgentPod } from '@fairlead/tunnel/agent';
import { z } from 'zod';
import type { KubeApiTarget } from '../kube-api-proxy.js';
import { distributionOf, providerOf } from './distribution.js';
import { listNodes, type Nodes } from './list-nodes.js';
import { readOwnPod, type Workload } from './own-pod.js';
import { rightsToNames } from './rights-to-names.js';
import { reviewRight, type ReviewedRight } from './review-right.js';

/** What one look at the cluster brought. */
export interface Observation {
  readonly facts: AgentFacts;
  /** Why something is not known, or as it was before; null: all of it was looked at. A right that is missing is not a failure. */
  readonly failure: string | null;
}

export interface ObserveOptions {
  readonly api: KubeApiTarget;
  readonly agentVersion: string;
  /** What this agent can do on the link. */
  readonly linkCapabilities: readonly string[];
  /** What it is a pod of; absent: of nothing. */
  readonly workload?: Workload | undefined;
}

const Version = z.object({ gitVersion: z.string().max(64) });
const mayBeIn = (group: string): ReviewedRight => ({ verb: 'impersonate', resource: 'groups', name: group });
/** What an agent finds that it may; each if all of its rights are there. */
type Capability = readonly [name: string, rights: readonly ReviewedRight[]];

function capabilitiesAt({ userNames = 'user' }: KubeApiTarget): readonly Capability[] {
  return [
    ['rbac:impersonate-users', rightsToNames(userNames)],
    ['rbac:impersonate-admins', [mayBeIn('fairlead:admins')]],
    ['rbac:impersonate-roles', ClusterRoleName.options.map((role) => mayBeIn(groupOfRole(role)))],
  ];
}

/** Looks at the cluster as its agent. What cannot be learned now stays as it was before. Never rejects. */
export async function observeCluster(
  options: ObserveOptions,
  before: AgentFacts | null,
  signal: AbortSignal,
): Promise<Observation> {
  const { api, agentVersion, linkCapabilities, workload } = options;
  const capabilities = capabilitiesAt(api);
  const failures: string[] = [];
  const attempt = <T>(work: Promise<T>): Promise<T | undefined> =>
    work.catch((error: unknown) => void failures.push(messageOf(error)));
  const [version, nodes, pod, ...rights] = await Promise.all([
    attempt(versionOf(api, signal)),
    attempt(listNodes(api, signal)),
    attempt(workload ? readOwnPod(api, workload, signal) : Promise.resolve(null)),
    ...capabilities.map(([, needed]) => attempt(hasAll(api, needed, signal))),
  ]);
  const kubernetesVersion = version ?? before?.kubernetesVersion ?? 'unknown';
  const had = (capability: string): boolean => before?.capabilities?.includes(capability) ?? false;
  const allowed = capabilities.flatMap(([name], index) => ((rights[index] ?? had(name)) ? [name] : []));
  const lists = nodes === undefined ? had('rbac:list-nodes') : nodes !== null;
  const facts = {
    agentVersion,
    kubernetesVersion,
    platform: `${process.platform}/${process.arch}`,
    ...aboutNodes(kubernetesVersion, nodes, before),
    ...aboutPod(pod, before),
    capabilities: [...linkCapabilities, ...allowed, ...(lists ? ['rbac:list-nodes'] : [])].sort(),
  };
  return { facts, failure: failures[0] ?? null };
}

async function hasAll(api: KubeApiTarget, rights: readonly ReviewedRight[], signal: AbortSignal): Promise<boolean> {
  const allowed = await Promise.all(rights.map((right) => reviewRight(api, right, signal)));
  return allowed.every(Boolean);
}

function aboutPod(pod: AgentPod | null | undefined, before: AgentFacts | null): Pick<AgentFacts, 'pod'> {
  const known = pod === undefined ? before?.pod : pod;
  return known ? { pod: known } : {};
}

/** https://kubernetes.io/docs/reference/labels-annotations-taints/#topologykubernetesioregion */
const REGION = 'topology.kubernetes.io/region';

/** Null: it may not look at them; the version may still tell whose Kubernetes it is. */
function aboutNodes(
  version: string,
  nodes: Nodes | null | undefined,
  before: AgentFacts | null,
): Pick<AgentFacts, 'distribution' | 'provider' | 'region' | 'nodes'> {
  if (nodes === undefined) {
    const { distribution = '', provider = '', nodes: counted, region } = before ?? {};
    return {
      distribution: distributionOf(version, []) || distribution,
      provider,
      ...(region !== undefined && { region }),
      ...(counted && { nodes: counted }),
    };
  }
  if (nodes === null) return { distribution: distributionOf(version, []), provider: '' };
  const { total, ready, sample } = nodes;
  const region = sample[0]?.labels[REGION];
  return {
    distribution: distributionOf(version, sample),
    provider: providerOf(sample),
    ...(region !== undefined && { region }),
    nodes: { total, ready },
  };
}

async function versionOf(api: KubeApiTarget, signal: AbortSignal): Promise<string> {
  const { status, body } = await askKube(api, { method: 'GET', path: '/version', signal });
  if (status !== 200) throw new Error(`the API server answered ${status} to a question for its version`);
  return Version.parse(JSON.parse(body)).gitVersion;
}
