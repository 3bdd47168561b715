import { systemClock } from '@fairlead/clock';
import { untilAborted } from '@fairlead/config';
import { ApiSettings, certificateFiles, issuedCertificate, startApi, type TlsSource } from '@fairlead/api';
import { createRpcClient, type RpcClient } from '@fairlead/messaging';
import { gaugeAtScrape, type Logger, type Registry } from '@fairlead/observability';
import { ProcessHost } from '@fairlead/service/process';
import { certificateOrigin, type ApiConfig } from './config.js';

/** Serves until the signal is aborted, and on until load balancers have noticed; then answers what is in flight and returns. */
export async function runApi(config: ApiConfig, logger: Logger, signal: AbortSignal): Promise<void> {
  await using host = new ProcessHost({ role: 'api', config, logger, signal });
  const { registry, readiness } = host;
  const serving = { name: 'serving', ok: false, detail: 'waiting for NATS and for a certificate' };
  host.addChecks(() => [serving]);
  await host.serveHealth();
  const client = createRpcClient(await host.joinNats(), host.source);
  const tls = host.use(await certificate(config, client, logger, signal));
  meterCertificate(registry, tls);
  host.addChecks(() => [{ name: 'certificate', ok: tls.notAfter.getTime() > systemClock.nowMs() }]);
  const { FAIRLEAD_PUBLIC_URL: publicUrl, FAIRLEAD_DOORS: doors, FAIRLEAD_CONNECT_DOORS: connectDoors } = config;
  const { FAIRLEAD_CLUSTER_DOMAIN: clusterDomain } = config;
  const settings = new ApiSettings({ publicUrl, doors, connectDoors, clusterDomain, readiness });
  const listen = { ...config.FAIRLEAD_API_LISTEN, balancers: config.FAIRLEAD_PROXY_PROTOCOL_FROM };
  const api = host.use(await startApi({ ...listen, client, settings, clock: systemClock, tls, logger, registry }));
  Object.assign(serving, { ok: true, detail: undefined });
  logger.info('api.ready', { host: listen.host, port: api.port, publicUrl: settings.publicUrl });
  await untilAborted(signal);
  Object.assign(serving, { ok: false, detail: 'shutting down' });
  logger.info('api.stopping');
  api.drain();
  await systemClock.sleep(config.FAIRLEAD_API_GRACE_SECONDS * 1_000);
}

function meterCertificate(registry: Registry, tls: TlsSource): void {
  gaugeAtScrape(
    registry,
    { name: 'fairlead_api_certificate_expiry_timestamp_seconds', help: 'When the certificate of the admin API ends.' },
    (gauge) => {
      gauge.set(tls.notAfter.getTime() / 1_000);
    },
  );
}

function certificate(config: ApiConfig, client: RpcClient, logger: Logger, signal: AbortSignal): Promise<TlsSource> {
  const origin = certificateOrigin(config);
  const clock = systemClock;
  return origin.kind === 'files'
    ? certificateFiles({ ...origin, clock, logger })
    : issuedCertificate({ ...origin, client, clock, logger, signal });
}
