import { spawn } from 'node:child_process';
import { mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '@fairlead/clock';
import { freePort } from '@fairlead/testbed';
import { BenchError } from '../process/bench-error.js';
import { adopt, type Child } from '../process/child.js';
import type { Invitation } from './invitation.js';
import type { System } from './system.js';

export interface AgentOptions {
  readonly invitation: Invitation;
  /** What it takes for its kube-apiserver. */
  readonly server: System;
  /** A folder for its identity, its log and its service account. */
  readonly dir: string;
  readonly signal: AbortSignal;
}

const AGENT = fileURLToPath(new URL('../../../apps/agent/dist/main.js', import.meta.url));
/** As in the agent's image. */
const NODE_FLAGS = ['--enable-source-maps', '--external-memory-accounted-in-global-limit'];
const END_WITH_PARENT = new URL('../process/end-with-parent.js', import.meta.url).href;
const READY_TIMEOUT_MS = 30_000;
const POLL_MS = 100;

/** A real agent outside any cluster, with one link, so that one of two replicas does not hold it. Resolves when ready. */
export async function startAgent(options: AgentOptions): Promise<Child> {
  const { dir, signal } = options;
  const logPath = join(dir, 'agent.log');
  const healthAddress = `127.0.0.1:${await freePort()}`;
  const env = await prepare(options, healthAddress);
  await using log = await open(logPath, 'a', 0o600);
  const process_ = spawn(process.execPath, [...NODE_FLAGS, '--import', END_WITH_PARENT, AGENT], {
    stdio: ['pipe', log.fd, log.fd],
    env,
  });
  const agent = adopt('the agent', process_);
  try {
    await untilReady(`http://${healthAddress}/readyz`, agent.exited, signal);
    return agent;
  } catch (error) {
    await agent[Symbol.asyncDispose]();
    signal.throwIfAborted();
    const tail = (await readFile(logPath, 'utf8')).trim().split('\n').slice(-5).join('\n');
    throw new BenchError(`the agent did not get ready:\n${tail}`, { cause: error });
  }
}

/** Writes its files; resolves with its whole environment. */
async function prepare({ invitation, server, dir }: AgentOptions, health: string): Promise<Record<string, string>> {
  const serviceAccount = join(dir, 'service-account');
  const token = join(dir, 'bootstrap-token');
  await mkdir(serviceAccount, { recursive: true, mode: 0o700 });
  await Promise.all([
    writeFile(join(serviceAccount, 'ca.crt'), server.caPem),
    // The server asks for none, but an agent has one.
    writeFile(join(serviceAccount, 'token'), 'no-service-account'),
    writeFile(token, invitation.token, { mode: 0o600 }),
  ]);
  const { hostname, port } = new URL(server.target);
  return {
    PATH: process.env['PATH'] ?? '',
    FAIRLEAD_ENDPOINTS: invitation.endpoints,
    FAIRLEAD_ROOT_PINS: invitation.pins,
    FAIRLEAD_TRUST_DOMAIN: invitation.trustDomain,
    FAIRLEAD_LINKS: '1',
    FAIRLEAD_BOOTSTRAP_TOKEN_FILE: token,
    FAIRLEAD_IDENTITY: `file:${join(dir, 'identity.json')}`,
    FAIRLEAD_SERVICE_ACCOUNT_DIR: serviceAccount,
    KUBERNETES_SERVICE_HOST: hostname,
    KUBERNETES_SERVICE_PORT: port,
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
