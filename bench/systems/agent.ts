import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '@fairlead/clock';
import { NODE_ENVIRONMENT, NODE_FLAGS, entryOf } from '@fairlead/stack';
import { freePort } from '@fairlead/testbed';
import { testAuthority } from '@fairlead/testing';
import { BenchError } from '../process/bench-error.js';
import { Program, prefixed } from '../process/program.js';
import type { Invitation } from './invitation.js';
import type { Leg } from './leg.js';

export interface AgentOptions {
  readonly invitation: Invitation;
  readonly leg: Leg;
  /** Where it links to: `host:port` of each gateway. */
  readonly endpoints: readonly string[];
  /** Replicas that it keeps a link to. */
  readonly links: number;
  /** A folder for its identity, its log and its service account; made here. */
  readonly dir: string;
  readonly signal: AbortSignal;
}

const END_WITH_PARENT = new URL('../process/end-with-parent.js', import.meta.url).href;
const READY_TIMEOUT_MS = 30_000;
const POLL_MS = 100;

/** A real agent outside any cluster, for raw TCP targets alone. Resolves when it is linked. */
export async function startAgent(options: AgentOptions, owned: AsyncDisposableStack): Promise<Program> {
  const { dir, leg, signal } = options;
  const logPath = join(dir, 'agent.log');
  const healthAddress = `${leg.agentHost}:${await freePort()}`;
  const env = await prepare(options, healthAddress);
  const command = prefixed(leg.prefix, [
    process.execPath,
    ...NODE_FLAGS,
    '--import',
    END_WITH_PARENT,
    entryOf('agent'),
  ]);
  const agent = owned.use(new Program({ name: 'the agent', command, logPath, env }));
  await agent.start();
  try {
    await untilReady(`http://${healthAddress}/readyz`, agent.exited, signal);
    return agent;
  } catch (error) {
    signal.throwIfAborted();
    const tail = (await readFile(logPath, 'utf8')).trim().split('\n').slice(-5).join('\n');
    throw new BenchError(`the agent did not get ready:\n${tail}`, { cause: error });
  }
}

/** Writes its files; resolves with its whole environment. */
async function prepare(
  { invitation, endpoints, links, dir }: AgentOptions,
  health: string,
): Promise<Record<string, string>> {
  const serviceAccount = join(dir, 'service-account');
  const token = join(dir, 'bootstrap-token');
  await mkdir(serviceAccount, { recursive: true, mode: 0o700 });
  const { roots } = await testAuthority();
  await Promise.all([
    // It has a kube-apiserver to speak of, but nobody asks for it here.
    writeFile(join(serviceAccount, 'ca.crt'), roots.join('')),
    writeFile(join(serviceAccount, 'token'), 'no-service-account'),
    writeFile(token, invitation.token, { mode: 0o600 }),
  ]);
  return {
    ...NODE_ENVIRONMENT,
    PATH: process.env['PATH'] ?? '',
    FAIRLEAD_ENDPOINTS: endpoints.join(','),
    FAIRLEAD_ROOT_PINS: invitation.pins,
    FAIRLEAD_TRUST_DOMAIN: invitation.trustDomain,
    FAIRLEAD_ALLOW_TARGETS: invitation.targets,
    FAIRLEAD_LINKS: String(links),
    FAIRLEAD_BOOTSTRAP_TOKEN_FILE: token,
    FAIRLEAD_IDENTITY: `file:${join(dir, 'identity.json')}`,
    FAIRLEAD_SERVICE_ACCOUNT_DIR: serviceAccount,
    KUBERNETES_SERVICE_HOST: '127.0.0.1',
    KUBERNETES_SERVICE_PORT: '9',
    FAIRLEAD_HEALTH_LISTEN: health,
  };
}

async function untilReady(url: string, exited: Promise<void>, signal: AbortSignal): Promise<void> {
  const deadline = systemClock.monotonicMs() + READY_TIMEOUT_MS;
  let running = true;
  void exited.then(() => (running = false));
  while (!(await answersOk(url))) {
    if (!running) throw new BenchError('it ended');
    if (systemClock.monotonicMs() >= deadline) throw new BenchError(`it took more than ${READY_TIMEOUT_MS / 1_000} s`);
    await systemClock.sleep(POLL_MS, signal);
  }
}

async function answersOk(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    // Not listening yet.
    return false;
  }
}
