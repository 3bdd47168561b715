import type { AgentFacts } from '@fairlead/tunnel/agent';

/** What the agent says of itself and its cluster, as it changes. */
export interface FactsFeed {
  /** The newest. The first may take some seconds. Never rejects. */
  current(): Promise<AgentFacts>;
  /** Calls back with what is new from now on. Returns how to stop that. */
  onChange(listener: (facts: AgentFacts) => void): () => void;
}

/** Facts that stay as they are, or that follow the cluster. */
export type FactsSource = AgentFacts | Promise<AgentFacts> | FactsFeed;

export function feedOf(source: FactsSource): FactsFeed {
  if ('current' in source) return source;
  return { current: async () => source, onChange: () => () => undefined };
}
