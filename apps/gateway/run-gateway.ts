import { randomUUID } from 'node:crypto';
import { COLLECTING_OF_SERVER, collectWhenIdle, tracingSettings, untilAborted } from '@fairlead/config';
import { createEventPublisher } from '@fairlead/events/publisher';
import { openAudit, rateLimitedEvents, startGateway, type Gateway } from '@fairlead/gateway';
import { UnauthenticatedFlood } from '@fairlead/limits';
import { createRpcClient } from '@fairlead/messaging';
import { startTracing, type Check, type Logger } from '@fairlead/observability';
import { ProcessHost } from '@fairlead/service/process';
import { auditSettings, doorCertificate, type GatewayConfig } from './config.js';
import { gatewayEvents } from './gateway-events.js';
import { doorLimits } from './limits.js';

/** Version of this gateway, as its image is tagged. */
const GATEWAY_VERSION = '0.1.0';

/** Serves until the signal is aborted, then drains and returns. */
export async function runGateway(config: GatewayConfig, logger: Logger, signal: AbortSignal): Promise<void> {
  await using host = new ProcessHost({ role: 'gateway', config, logger, signal });
  const { source, registry } = host;
  const instance = randomUUID();
  const resource = {
    'service.name': 'fairlead-gateway',
    'service.version': GATEWAY_VERSION,
    'service.instance.id': instance,
    'fairlead.replica': source.credential,
  };
  const tracing = host.use(await startTracing({ settings: tracingSettings(config), resource, logger, registry }));
  let gateway: Gateway | null = null;
  const starting: Check[] = [{ name: 'started', ok: false, detail: 'waiting for NATS and for certificates' }];
  await host.serveHealth({
    readiness: () => gateway?.readiness() ?? starting,
    views: config.FAIRLEAD_DEBUG_VIEW ? { '/debug/sessions': () => gateway?.debugView() ?? null } : {},
  });
  const settings = auditSettings(config);
  // Before NATS: what is wrong with it is known at once.
  const audit = settings && host.use(await openAudit(settings, registry, logger));
  const nc = await host.joinNats();
  const events = createEventPublisher(nc, source, { logger, registry });
  host.defer(() => events.close());
  gateway = await startGateway(
    {
      credential: config.FAIRLEAD_CREDENTIAL,
      instance,
      nc,
      audit,
      rpc: createRpcClient(nc, source),
      events: rateLimitedEvents(gatewayEvents(events, source.credential, logger)),
      logger,
      registry,
      tracer: tracing.tracer,
      linkListen: config.FAIRLEAD_LINK_LISTEN,
      relayListen: config.FAIRLEAD_RELAY_LISTEN,
      doorListen: config.FAIRLEAD_DOOR_LISTEN,
      connectListen: config.FAIRLEAD_CONNECT_LISTEN,
      ...doorLimits(config),
      balancers: config.FAIRLEAD_PROXY_PROTOCOL_FROM,
      egressRules: config.FAIRLEAD_EGRESS_ALLOW,
      metricsClusters: config.FAIRLEAD_METRICS_CLUSTERS,
      ...(config.FAIRLEAD_RELAY_ADDRESS ? { relayAddress: config.FAIRLEAD_RELAY_ADDRESS } : {}),
      doorCertificate: doorCertificate(config),
      clusterDomain: config.FAIRLEAD_CLUSTER_DOMAIN,
      linkEndpoints: config.FAIRLEAD_LINK_ENDPOINTS,
      zone: config.FAIRLEAD_ZONE,
      leaseMs: config.FAIRLEAD_LEASE_SECONDS * 1_000,
      doorGraceMs: config.FAIRLEAD_DOOR_GRACE_SECONDS * 1_000,
    },
    signal,
  );
  const { link, relay, door, connect } = gateway;
  const flood = new UnauthenticatedFlood();
  collectWhenIdle(signal, COLLECTING_OF_SERVER, () => flood.isOn());
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
