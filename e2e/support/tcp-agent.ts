import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { EXIT_WITH_PARENT, NODE_ENVIRONMENT, NODE_FLAGS, entryOf, type Stack } from '@fairlead/stack';
import { freePort } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import { invite, type Invitation } from './loose-agent.js';
import { secretScan } from './secret-scan/index.js';

const READY_TIMEOUT_MS = 60_000;

/** A real agent process outside any Kubernetes, for raw TCP targets alone. Its cluster was registered for it. */
export interface TcpAgent extends AsyncDisposable {
  readonly cluster: string;
  readonly pid: number;
  /** `http://host:port` of its health server. */
  readonly healthUrl: string;
  kill(signal: NodeJS.Signals): void;
  /** Kills it and starts it with the identity it has; with other settings, if given. Resolves when it has a link. */
  restart(env?: Readonly<Record<string, string>>): Promise<void>;
  /** The next log line with this event name, parsed; lines written before the call do not count. */
  nextEvent(name: string, timeoutMs: number): Promise<Record<string, unknown>>;
  /** The last lines that it wrote. */
  tail(): readonly string[];
}

const TAIL_LINES = 50;

/** Registers the cluster, enrols and starts the agent. Resolves when it has a link. */
export async function startTcpAgent(
  stack: Stack,
  options: { readonly cluster: string; readonly links: number; readonly targets: readonly string[] },
): Promise<TcpAgent> {
  const { cluster } = options;
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-tcp-agent-'));
  const healthUrl = `http://127.0.0.1:${await freePort()}`;
  const env = await prepare(dir, stack, await invite(stack, cluster), { ...options, healthUrl });
  const lines: string[] = [];
  const listeners = new Set<(line: string) => void>();
  const hear = (line: string): void => {
    lines.push(line);
    if (lines.length > TAIL_LINES) lines.shift();
    for (const listener of listeners) listener(line);
  };
  let child = launch(env, hear);
  await untilReady(healthUrl);
  return {
    cluster,
    healthUrl,
    get pid() {
      return child.pid ?? 0;
    },
    kill: (signal) => void child.kill(signal),
    async restart(changed = {}) {
      await end(child);
      child = launch({ ...env, ...changed }, hear);
      await untilReady(healthUrl);
    },
    nextEvent: (name, timeoutMs) => nextLine(listeners, `"event":"${name}"`, timeoutMs),
    tail: () => lines,
    async [Symbol.asyncDispose]() {
      secretScan.hearProcess(`the agent of ${cluster}`, child.pid);
      await end(child);
      secretScan.hear(`the log of the agent of ${cluster}`, lines.join('\n'));
      const identity = await readFile(join(dir, 'identity.json'), 'utf8').catch(() => '');
      secretScan.issued.addIdentity(`the key of the agent of ${cluster}`, identity);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

async function prepare(
  dir: string,
  stack: Stack,
  invitation: Invitation,
  { links, targets, healthUrl }: { links: number; targets: readonly string[]; healthUrl: string },
): Promise<Record<string, string>> {
  await mkdir(join(dir, 'sa'));
  await Promise.all([
    // Nothing asks its Kubernetes API for anything, but it wants to know whom it would trust there.
    writeFile(join(dir, 'sa', 'ca.crt'), await readFile(stack.api.caFile, 'utf8')),
    writeFile(join(dir, 'sa', 'token'), 'no-service-account'),
    writeFile(join(dir, 'token'), invitation.token, { mode: 0o600 }),
  ]);
  return {
    PATH: process.env['PATH'] ?? '',
    FAIRLEAD_ENDPOINTS: invitation.endpoints,
    FAIRLEAD_ROOT_PINS: invitation.pins,
    FAIRLEAD_TRUST_DOMAIN: invitation.trustDomain,
    FAIRLEAD_LINKS: String(links),
    FAIRLEAD_BOOTSTRAP_TOKEN_FILE: join(dir, 'token'),
    FAIRLEAD_IDENTITY: `file:${join(dir, 'identity.json')}`,
    FAIRLEAD_SERVICE_ACCOUNT_DIR: join(dir, 'sa'),
    FAIRLEAD_ALLOW_TARGETS: targets.join(','),
    KUBERNETES_SERVICE_HOST: '127.0.0.1',
    KUBERNETES_SERVICE_PORT: '1',
    FAIRLEAD_HEALTH_LISTEN: new URL(healthUrl).host,
  };
}

function launch(env: Readonly<Record<string, string>>, hear: (line: string) => void): ChildProcess {
  const child = spawn(process.execPath, [...NODE_FLAGS, '--import', EXIT_WITH_PARENT, entryOf('agent')], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...NODE_ENVIRONMENT, ...env },
  });
  for (const stream of [child.stdout, child.stderr]) if (stream) createInterface({ input: stream }).on('line', hear);
  return child;
}

function untilReady(healthUrl: string): Promise<void> {
  return eventually(
    async () => {
      const answer = await fetch(`${healthUrl}/readyz`, { signal: AbortSignal.timeout(2_000) });
      if (!answer.ok) throw new Error(await answer.text());
    },
    { timeoutMs: READY_TIMEOUT_MS },
  );
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGKILL');
  await exited;
}

function nextLine(
  listeners: Set<(line: string) => void>,
  part: string,
  timeoutMs: number,
): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      listeners.delete(look);
      act();
    };
    const look = (line: string): void => {
      if (line.includes(part)) settle(() => resolve(JSON.parse(line) as Record<string, unknown>));
    };
    const timer = setTimeout(
      () => settle(() => reject(new Error(`the agent wrote no line with ${part} in ${timeoutMs} ms`))),
      timeoutMs,
    );
    listeners.add(look);
  });
}
