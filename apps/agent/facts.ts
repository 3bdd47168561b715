import { followCluster, type AgentOptions, type KubeApiTarget } from '@fairlead/agent';
import type { Logger } from '@fairlead/observability';
import type { AgentConfig } from './config.js';
import { workloadOf } from './stores.js';

/** Version of this agent, as its image is tagged. */
export const AGENT_VERSION = '0.1.0';

/** What the agent says about its cluster, from now until the signal. Not knowing it is no reason not to start. */
export function agentFacts(
  config: AgentConfig,
  api: KubeApiTarget,
  logger: Logger,
  signal: AbortSignal,
): AgentOptions['facts'] {
  const tcp = config.FAIRLEAD_ALLOW_TARGETS.length > 0 ? ['link:tcp'] : [];
  const required = config.FAIRLEAD_REQUIRE_STATEMENTS ? ['link:statements-required'] : [];
  return followCluster(
    {
      api,
      logger,
      agentVersion: AGENT_VERSION,
      linkCapabilities: ['link:facts', 'link:kube-api', 'link:statements', 'link:trust', ...required, ...tcp],
      workload: workloadOf(config),
      refreshMs: config.FAIRLEAD_FACTS_REFRESH_SECONDS * 1_000,
    },
    signal,
  );
}
