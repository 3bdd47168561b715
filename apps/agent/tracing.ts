import { randomUUID } from 'node:crypto';
import type { AgentOptions } from '@fairlead/agent';
import { tracingSettings } from '@fairlead/config';
import { startTracing, type Logger, type Registry, type Tracing } from '@fairlead/observability';
import type { AgentConfig } from './config.js';
import { AGENT_VERSION } from './facts.js';

interface AgentTracing extends Tracing {
  /** Spans wait until it was called: they say whose cluster they are from. */
  readonly onIdentity: NonNullable<AgentOptions['onIdentity']>;
}

/** The export of the agent's spans, if its environment says where to. */
export async function startAgentTracing(
  config: AgentConfig,
  logger: Logger,
  registry: Registry,
): Promise<AgentTracing> {
  const clusterId = Promise.withResolvers<string>();
  const resource = {
    'service.name': 'fairlead-agent',
    'service.version': AGENT_VERSION,
    'service.instance.id': randomUUID(),
    'fairlead.cluster.id': clusterId.promise,
  };
  const tracing = await startTracing({ settings: tracingSettings(config), resource, logger, registry });
  return { ...tracing, onIdentity: (identity) => clusterId.resolve(identity.clusterId) };
}
