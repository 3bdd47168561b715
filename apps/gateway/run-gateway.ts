import { randomUUID } from 'node:crypto';
import { splitHostPort, tracingSettings, untilAborted } from '@fairlead/config';
import { createEventPublisher } from '@fairlead/events/publisher';
import { dampFlaps, dampRefusals, startGateway, type Gateway } from '@fairlead/gateway';
import { connectNats, createRpcClient } from '@fairlead/messaging';
import { Registry, startHealthServer, startTracing, type Check, type Logger } from '@fairlead/observability';
import { doorCertificate, type GatewayConfig } from './config.js';
import { gatewayEvents } from './gateway-events.js';
import { doorLimits } from './limits.js';

/** Version of this gateway, as its image is tagged. */
const GATEWAY_VERSION = '0.1.0';

/** Serves until the signal is aborted, then drains and returns. */
export async function runGateway(config: GatewayConfig, logger: Logger, signal: AbortSignal): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const caller = { role: 'gateway', credential: config.FAIRLEAD_CREDENTIAL } as const;
  const registry = new Registry();
  const instance = randomUUID();
  const resource = {
    'service.name': 'fairlead-gateway',
    'service.version': GATEWAY_VERSION,
    'service.instance.id': instance,
    'fairlead.replica': caller.credential,
  };
  const tracing = stack.use(await startTracing({ settings: tracingSettings(config), resource, logger, registry }));
  let gateway: Gateway | null = null;
  const starting: Check[] = [{ name: 'started', ok: false, detail: 'waiting for NATS and for certificates' }];
  stack.use(
    await startHealthServer({
      ...splitHostPort(config.FAIRLEAD_HEALTH_LISTEN),
      registry,
      readiness: () => gateway?.readiness() ?? starting,
      views: config.FAIRLEAD_DEBUG_VIEW ? { '/debug/sessions': () => gateway?.debugView() ?? null } : {},
    }),
  );
  const nats = {
    ...caller,
    url: config.FAIRLEAD_NATS_URL,
    seedFile: config.FAIRLEAD_NATS_SEED_FILE,
    caFile: config.FAIRLEAD_NATS_CA_FILE,
    insecurePlaintext: config.FAIRLEAD_INSECURE_PLAINTEXT,
  };
  const nc = stack.adopt(await connectNats({ ...nats, logger, signal }), (open) => open.close());
  const events = stack.adopt(createEventPublisher(nc, caller, { logger }), (publisher) => publisher.close());
  gateway = await startGateway(
    {
      credential: config.FAIRLEAD_CREDENTIAL,
      instance,
      nc,
      rpc: createRpcClient(nc, caller),
      events: dampRefusals(dampFlaps(gatewayEvents(events, caller.credential, logger))),
      logger,
      registry,
      tracer: tracing.tracer,
      linkListen: config.FAIRLEAD_LINK_LISTEN,
      relayListen: config.FAIRLEAD_RELAY_LISTEN,
      doorListen: config.FAIRLEAD_DOOR_LISTEN,
      connectListen: config.FAIRLEAD_CONNECT_LISTEN,
      ...doorLimits(config),
      egressRules: config.FAIRLEAD_EGRESS_ALLOW,
      metricsClusters: config.FAIRLEAD_METRICS_CLUSTERS,
      ...(config.FAIRLEAD_RELAY_ADDRESS ? { relayAddress: config.FAIRLEAD_RELAY_ADDRESS } : {}),
      doorCertificate: doorCertificate(config),
      linkEndpoints: config.FAIRLEAD_LINK_ENDPOINTS,
      zone: config.FAIRLEAD_ZONE,
      leaseMs: config.FAIRLEAD_LEASE_SECONDS * 1_000,
      doorGraceMs: config.FAIRLEAD_DOOR_GRACE_SECONDS * 1_000,
    },
    signal,
  );
  const { link, relay, door, connect } = gateway;
  logger.info('gateway.ready', {
    instance,
    link: link.address,
    relay: relay.address,
    door: door.address,
    connect: connect?.address ?? null,
  });
  await untilAborted(signal);
  logger.info('gateway.draining');
  await gateway.stop();
}
