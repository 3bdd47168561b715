import { systemClock } from '@fairlead/clock';
import { untilAborted } from '@fairlead/config';
import { ApiSettings, certificateFiles, issuedCertificate, startApi, type TlsSource } from '@fairlead/api';
import { connectNats, connectionState, createRpcClient, type RpcClient } from '@fairlead/messaging';
import { Registry, startHealthServer, type Check, type Logger } from '@fairlead/observability';
import { certificateOrigin, type ApiConfig } from './config.js';

/** Serves until the signal is aborted, then answers what is in flight and returns. */
export async function runApi(config: ApiConfig, logger: Logger, signal: AbortSignal): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const caller = { role: 'api', credential: config.FAIRLEAD_CREDENTIAL } as const;
  const registry = new Registry();
  const checks: (() => Check)[] = [];
  const readiness = (): Check[] => checks.map((check) => check());
  const serving = { name: 'serving', ok: false, detail: 'waiting for NATS and for a certificate' };
  checks.push(() => serving);
  if (config.FAIRLEAD_HEALTH_LISTEN) {
    stack.use(await startHealthServer({ ...config.FAIRLEAD_HEALTH_LISTEN, readiness, registry }));
  }
  const nats = {
    ...caller,
    url: config.FAIRLEAD_NATS_URL,
    seedFile: config.FAIRLEAD_NATS_SEED_FILE,
    caFile: config.FAIRLEAD_NATS_CA_FILE,
    insecurePlaintext: config.FAIRLEAD_INSECURE_PLAINTEXT,
  };
  const connection = stack.adopt(await connectNats({ ...nats, logger, signal }), (open) => open.close());
  checks.push(() => ({ name: 'nats', ok: connectionState(connection).connected }));
  const client = createRpcClient(connection, caller);
  const tls = stack.use(await certificate(config, client, logger, signal));
  checks.push(() => ({ name: 'certificate', ok: tls.notAfter.getTime() > systemClock.nowMs() }));
  const { FAIRLEAD_PUBLIC_URL: publicUrl, FAIRLEAD_DOORS: doors, FAIRLEAD_CONNECT_DOORS: connectDoors } = config;
  const settings = new ApiSettings({ publicUrl, doors, connectDoors, readiness });
  const listen = config.FAIRLEAD_API_LISTEN;
  const api = stack.use(await startApi({ ...listen, client, settings, clock: systemClock, tls, logger, registry }));
  Object.assign(serving, { ok: true, detail: undefined });
  logger.info('api.ready', { host: listen.host, port: api.port, publicUrl: settings.publicUrl });
  await untilAborted(signal);
  Object.assign(serving, { ok: false, detail: 'shutting down' });
  logger.info('api.stopping');
}

function certificate(config: ApiConfig, client: RpcClient, logger: Logger, signal: AbortSignal): Promise<TlsSource> {
  const origin = certificateOrigin(config);
  const clock = systemClock;
  return origin.kind === 'files'
    ? certificateFiles({ ...origin, clock, logger })
    : issuedCertificate({ ...origin, client, clock, logger, signal });
}
