import { AgentPod, Facts } from '@fairlead/contracts';
import type { Facts as SaidFacts } from '@fairlead/proto';

/**
 * What an agent says of its cluster, within the bounds of what is kept: what is beyond them counts as not said, so that one bad
 * word costs neither the others nor the link.
 */
export function readFacts(said: SaidFacts | undefined): Facts {
  const { agentVersion = '', kubernetesVersion = '', platform = '' } = said ?? {};
  const { distribution, provider, nodes, capabilities } = Facts.shape;
  return {
    agentVersion: line(agentVersion),
    kubernetesVersion: line(kubernetesVersion),
    platform: line(platform),
    distribution: distribution.safeParse(said?.distribution).data ?? '',
    provider: provider.safeParse(said?.provider).data ?? '',
    nodes: nodes.safeParse(said?.nodes && { total: said.nodes.total, ready: said.nodes.ready }).data ?? null,
    capabilities: capabilities.safeParse(said?.capabilities.slice(0, MOST)).data ?? [],
  };
}

/** Where an agent says that it runs; null: it does not, or not as a pod would. */
export function readPod(said: SaidFacts | undefined): AgentPod | null {
  return AgentPod.safeParse(said?.pod).data ?? null;
}

/** Nobody reads more than this of a list without end. */
const MOST = 64;

/** Versions have no fixed form; people are shown them. */
function line(text: string): string {
  return text.slice(0, 64).replaceAll(/\p{C}/gu, '');
}
