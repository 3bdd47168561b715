import { identityStore, runAgent, withBundle, type Agent } from '@fairlead/agent';
import { collectWhenIdle, splitHostPort } from '@fairlead/config';
import { Registry, startHealthServer, type Check, type Logger } from '@fairlead/observability';
import { endpointsOf, proxyOf, type AgentConfig } from './config.js';
import { agentFacts } from './facts.js';
import { readServiceAccount } from './service-account.js';
import { handoverFor, readBundleFile, readToken, storeFor } from './stores.js';
import { startAgentTracing } from './tracing.js';

/** Runs the agent until the signal is aborted. */
export async function run(config: AgentConfig, logger: Logger, signal: AbortSignal): Promise<void> {
  const host = config.KUBERNETES_SERVICE_HOST;
  const port = config.KUBERNETES_SERVICE_PORT;
  const { caPem, token } = await readServiceAccount(config.FAIRLEAD_SERVICE_ACCOUNT_DIR, () => performance.now());
  const api = { host, port, caPem, token, userNames: config.FAIRLEAD_USER_NAMES };
  let agent: Agent | null = null;
  const registry = new Registry();
  const starting: Check[] = [{ name: 'started', ok: false }];
  await using _health = await startHealthServer({
    ...splitHostPort(config.FAIRLEAD_HEALTH_LISTEN),
    registry,
    readiness: () => agent?.readiness() ?? starting,
  });
  await using tracing = await startAgentTracing(config, logger, registry);
  agent = runAgent(
    {
      endpoints: endpointsOf(config),
      proxy: proxyOf(config),
      region: config.FAIRLEAD_REGION,
      pins: config.FAIRLEAD_ROOT_PINS,
      trustDomain: config.FAIRLEAD_TRUST_DOMAIN,
      clusterId: config.FAIRLEAD_CLUSTER_ID,
      adoption: config.FAIRLEAD_ADOPTION,
      links: config.FAIRLEAD_LINKS,
      drainMs: config.FAIRLEAD_DRAIN_SECONDS * 1_000,
      store: withBundle(identityStore(storeFor(config, { host, port })), {
        read: () => readBundleFile(config.FAIRLEAD_IDENTITY_BUNDLE_FILE),
        clusterId: config.FAIRLEAD_CLUSTER_ID,
        logger,
      }),
      token: () => readToken(config.FAIRLEAD_BOOTSTRAP_TOKEN_FILE),
      kubeApi: api,
      requireStatements: config.FAIRLEAD_REQUIRE_STATEMENTS,
      tcp: { rules: config.FAIRLEAD_ALLOW_TARGETS },
      ...egressOf(config),
      handover: handoverFor(config, { host, port }),
      registry,
      tracer: tracing.tracer,
      onIdentity: tracing.onIdentity,
      facts: agentFacts(config, api, logger, signal),
      logger,
    },
    signal,
  );
  collectWhenIdle(signal);
  await agent.done;
}

function egressOf({ FAIRLEAD_EGRESS: ports, FAIRLEAD_EGRESS_ADDRESS: host }: AgentConfig) {
  return ports.length > 0 ? { egress: { ports, host } } : {};
}
