import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { identityStore, parseEndpoint, runAgent, type Agent, type TextStore } from '@fairlead/agent';
import { splitHostPort } from '@fairlead/config';
import { createSecretStore } from '@fairlead/kube/secret-store';
import { Registry, startHealthServer, type Check, type Logger } from '@fairlead/observability';
import type { AgentConfig } from './config.js';
import { fileStore } from './file-store.js';
import { agentFacts } from './facts.js';
import { startAgentTracing } from './tracing.js';

/** Runs the agent until the signal is aborted. */
export async function run(config: AgentConfig, logger: Logger, signal: AbortSignal): Promise<void> {
  const serviceAccount = (file: string): Promise<string> =>
    readFile(join(config.FAIRLEAD_SERVICE_ACCOUNT_DIR, file), 'utf8');
  const host = config.KUBERNETES_SERVICE_HOST;
  const port = config.KUBERNETES_SERVICE_PORT;
  const caPem = await serviceAccount('ca.crt');
  const token = async (): Promise<string> => (await serviceAccount('token')).trim();
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
      endpoints: config.FAIRLEAD_ENDPOINTS.map((endpoint) => parseEndpoint(endpoint)),
      proxy: { ...(config.HTTPS_PROXY ? { httpsProxy: config.HTTPS_PROXY.reveal() } : {}), noProxy: config.NO_PROXY },
      pins: config.FAIRLEAD_ROOT_PINS,
      links: config.FAIRLEAD_LINKS,
      store: identityStore(storeFor(config, { host, port })),
      token: () => readToken(config.FAIRLEAD_BOOTSTRAP_TOKEN_FILE),
      kubeApi: { host, port, caPem, token },
      tcp: { rules: config.FAIRLEAD_ALLOW_TARGETS },
      registry,
      tracer: tracing.tracer,
      onIdentity: tracing.onIdentity,
      facts: agentFacts({ host, port, caPem, token, logger }),
      logger,
    },
    signal,
  );
  await agent.done;
}

function storeFor(config: AgentConfig, server: { host: string; port: number }): TextStore {
  const [kind, place = ''] = splitOnce(config.FAIRLEAD_IDENTITY, ':');
  if (kind === 'file') return fileStore(place);
  const [namespace, name = ''] = splitOnce(place, '/');
  return createSecretStore({ ...server, serviceAccountDir: config.FAIRLEAD_SERVICE_ACCOUNT_DIR, namespace, name });
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** The token as text; null if there is none. The kubelet mounts no file for a Secret that is gone. */
async function readToken(path: string | undefined): Promise<string | null> {
  if (path === undefined) return null;
  try {
    const text = (await readFile(path, 'utf8')).trim();
    return text === '' ? null : text;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
