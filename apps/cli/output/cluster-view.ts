import type { Cluster, ClusterFacts } from '../session/answers.js';
import type { Cell } from './print.js';

/** What people ask first about a cluster: can it be reached? */
export function statusCell(cluster: Cluster): Cell {
  const { state } = cluster.presence;
  if (state === 'online') return { text: 'online', colour: 'green' };
  if (state === 'draining') return { text: 'draining', colour: 'yellow' };
  if (state === 'offline') return { text: 'offline', colour: 'red' };
  return { text: state, colour: 'yellow' };
}

type LinkedAgent = Cluster['presence']['agents'][number];

/** A process that is linked as the cluster's agent. */
export function agentText({ instance, addresses, since, pod }: LinkedAgent): string {
  return `${pod?.name ?? instance.slice(0, 8)} from ${addresses.join(' and ')} since ${since}`;
}

/** Why its agent was turned away or lost last, and where; empty if it never was. */
export function lastErrorText(error: Cluster['presence']['lastError']): string {
  if (error === null) return '';
  const { code, reason, address, replica, at } = error;
  return `${code}: ${reason} (${[address, replica === '' ? 'registration' : replica].filter(Boolean).join(' at ')}, ${at})`;
}

/** `2/3 ready`; empty if the agent does not say. */
export function nodesText(facts: ClusterFacts | null): string {
  return facts?.nodes ? `${facts.nodes.ready}/${facts.nodes.total} ready` : '';
}

/** Whose Kubernetes it is, and whose machines: `rke2 on aws`; empty if the agent does not say. */
export function distributionText(facts: ClusterFacts | null): string {
  const { distribution = '', provider = '' } = facts ?? {};
  return [distribution, provider === '' ? '' : `on ${provider}`].filter(Boolean).join(' ');
}

const DUPLICATES: Readonly<Record<string, string>> = {
  elsewhere: 'and are not all pods of one cluster',
  'same-pod': 'and several of them say that they are the same pod',
  surplus: 'more than its Deployment has',
};

/** What to make of processes that are not the pods of its agent. */
export const duplicateText = ({ name, presence: { duplicate } }: Cluster): string[] =>
  duplicate === null
    ? []
    : [
        `Several processes are linked with the identity of this cluster, ${DUPLICATES[duplicate] ?? duplicate}.`,
        'While its agent is being updated that is so for a moment; otherwise',
        `somebody has a copy of its key. To end all: fairlead cluster revoke ${name} --reason TEXT`,
      ];

export function labelsText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

/** The time that passed, in the largest unit that says something: 5s, 3m, 2h, 9d. */
export function ageText(since: string, now: Date): string {
  const seconds = Math.max(0, Math.floor((now.getTime() - Date.parse(since)) / 1_000));
  if (Number.isNaN(seconds)) return '-';
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)}h` : `${Math.floor(seconds / 86_400)}d`;
}
