import { systemClock } from '@fairlead/clock';
import { createRpcClient } from '@fairlead/messaging';
import { startSecuredNats, type SecuredNats } from '@fairlead/messaging/testing';
import { Registry, createLogger } from '@fairlead/observability';
import { scratchDir, testAuthority } from '@fairlead/testing';
import { ApiSettings, issuedCertificate, startApi, type ApiOptions, type Door } from '../index.js';
import { Script, serveScript, type ScriptedServices } from './scripted-services.js';

export { bootstrapToken, gatewayCertificates, waitingAgent } from './enrolment-request.js';
export { grantTo, userOf } from './somebody.js';
export { auditEntry } from './audit-entry.js';
export { deployKey, hostKey } from './scripted-git-keys.js';
export { clusterGitOps, installerReport, rollout } from './scripted-gitops.js';

export { Script, serveScript, type ScriptedServices };

/** The API as it is in production, on a real NATS, before scripted services. For tests of the API and of its clients. */
export interface ScriptedApi extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Root of the API's certificate. */
  readonly caPem: string;
  readonly script: Script;
  readonly services: ScriptedServices;
  readonly nats: SecuredNats;
  /** Every line the API logged. */
  readonly logLines: readonly string[];
}

export const TEST_CONNECT_DOORS: readonly Door[] = [
  { name: 'gateway-a', url: 'https://127.0.0.1:7447' },
  { name: 'gateway-b', url: 'https://127.0.0.1:7547' },
];

const TEST_DOORS: readonly Door[] = [
  { name: 'gateway-a', url: 'https://127.0.0.1:7443' },
  { name: 'gateway-b', url: 'https://127.0.0.1:7543' },
];

export interface ScriptedApiOptions extends Pick<ApiOptions, 'handshakeTimeoutMs' | 'pace'> {
  /** On which somebody else answers for the audit service; default: one of its own, and a scripted one. */
  readonly nats?: SecuredNats;
  /** How long certificates live; default 3,600,000. */
  readonly certificateMs?: number;
}

/** Starts everything; the API listens on a free port of 127.0.0.1. */
export async function startScriptedApi(options: ScriptedApiOptions = {}): Promise<ScriptedApi> {
  const { certificateMs, nats: given, ...limits } = options;
  await using stack = new AsyncDisposableStack();
  const scratch = stack.use(await scratchDir());
  const nats = given ?? stack.use(await startSecuredNats(scratch.file('nats')));
  const script = new Script(await testAuthority());
  script.certificateMs = certificateMs ?? script.certificateMs;
  const services = stack.use(await serveScript(nats, script, { audit: given === undefined }));
  const logLines: string[] = [];
  const logger = createLogger('api', 'debug', { write: (line: string) => void logLines.push(line) });
  const caller = { role: 'api', credential: 'api' } as const;
  const client = createRpcClient(await nats.connect(caller), caller);
  const clock = systemClock;
  const tls = stack.use(await issuedCertificate({ client, names: ['127.0.0.1', 'localhost'], clock, logger }));
  const readiness = (): { name: string; ok: boolean }[] => [{ name: 'nats', ok: true }];
  // The port is known only once it listens, and the settings carry it.
  const doors = { doors: TEST_DOORS, connectDoors: TEST_CONNECT_DOORS };
  const settings = new ApiSettings({ publicUrl: 'https://fairlead.test', ...doors, readiness });
  const registry = new Registry();
  const listen = { host: '127.0.0.1', port: 0, tls, ...limits };
  const api = stack.use(await startApi({ client, settings, clock, ...listen, logger, registry }));
  const url = `https://127.0.0.1:${api.port}`;
  Object.assign(settings, { publicUrl: url });
  const owned = stack.move();
  return {
    url,
    port: api.port,
    caPem: script.authority.root.certificatePem,
    script,
    services,
    nats,
    logLines,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
