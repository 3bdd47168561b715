import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@fairlead/testing';
import { secretScan } from './secret-scan/index.js';
import { startStack, type Stack, type StackOptions } from '@fairlead/stack';

/** When it ends, everything that it said is searched for every secret that it issued; it rejects if one is found. */
export interface TestStack extends AsyncDisposable {
  readonly stack: Stack;
}

/**
 * A whole installation of its own, on free ports, in a scratch folder. Nothing is restarted by itself, so that a test
 * sees what it killed stay dead.
 */
export async function startTestStack(options: Partial<StackOptions> = {}): Promise<TestStack> {
  const stateDir = options.stateDir ?? (await scratchStateDir());
  const stack = await startStack({
    stateDir,
    basePort: 0,
    restart: false,
    leaseSeconds: 3,
    durable: false,
    log: (event) => {
      if (event.kind === 'died') console.error(`${event.process} died: ${event.how}`);
    },
    ...options,
  });
  return {
    stack: heard(stack),
    [Symbol.asyncDispose]: async () => {
      await using ending = new AsyncDisposableStack();
      ending.defer(() => rm(stateDir, { recursive: true, force: true }));
      ending.defer(() => stack.stop());
      await secretScan.look(stack);
      await stack.stop();
      await secretScan.finish(stateDir);
    },
  };
}

/** The same stack; what its commands say is searched for secrets at the end. */
function heard(stack: Stack): Stack {
  const cli: Stack['cli'] = async (args, options) => {
    const output = await stack.cli(args, options);
    const where = `fairlead ${args.join(' ')}`;
    // The one command that hands out a secret on its standard output.
    secretScan.hear(`the output of ${where}`, output.stdout, { gives: args[0] === 'cluster' && args[1] === 'import' });
    secretScan.hear(`what was said by ${where}`, `${where}\n${output.stderr}`);
    return output;
  };
  const kubectl: Stack['kubectl'] = async (args, options) => {
    const output = await stack.kubectl(args, options);
    secretScan.hear(`what was said by kubectl ${args.join(' ')}`, output.stderr);
    return output;
  };
  return Object.create(stack, { cli: { value: cli }, kubectl: { value: kubectl } }) as Stack;
}

/** Other users must be able to pass through: Postgres and the agent run without our rights. */
export async function scratchStateDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-e2e-'));
  await chmod(dir, 0o755);
  return dir;
}

interface Roles {
  readonly holder: string;
  readonly other: string;
}

/** Name of the gateway that holds the demo's link, and of the one that does not; waits while the agent is between them. */
export function whoHoldsTheLink(stack: Stack): Promise<Roles> {
  return eventually(() => roles(stack), { timeoutMs: 60_000 });
}

async function roles(stack: Stack): Promise<Roles> {
  const held = await Promise.all(
    stack.gateways.map(async ({ name, healthUrl }) => ({ name, sessions: await sessionsOf(healthUrl) })),
  );
  const holder = held.find(({ sessions }) => sessions > 0)?.name;
  const other = held.find(({ sessions }) => sessions === 0)?.name;
  if (holder === undefined || other === undefined) throw new Error(`not one link: ${JSON.stringify(held)}`);
  return { holder, other };
}

export async function sessionsOf(healthUrl: string): Promise<number> {
  const view = (await fetchJson(`${healthUrl}/debug/sessions`)) as { sessions: unknown[] } | null;
  return view?.sessions.length ?? 0;
}

/** Of the links that a gateway holds. */
export async function sessionIdsOf(healthUrl: string): Promise<string[]> {
  const view = (await fetchJson(`${healthUrl}/debug/sessions`)) as { sessions: { sessionId: string }[] } | null;
  return view?.sessions.map(({ sessionId }) => sessionId) ?? [];
}

/** A Prometheus counter of a gateway; 0 before it was first counted. */
export async function counterOf(stack: Stack, gateway: string, metric: string, label: string): Promise<number> {
  const { healthUrl } = stack.gateways.find(({ name }) => name === gateway) ?? {};
  const text = await (await fetch(`${healthUrl}/metrics`, { signal: AbortSignal.timeout(5_000) })).text();
  const line = text.split('\n').find((each) => each.startsWith(`${metric}{${label}}`));
  return Number(line?.split(' ').at(-1) ?? 0);
}

async function fetchJson(url: string): Promise<unknown> {
  return (await fetch(url, { signal: AbortSignal.timeout(5_000) })).json();
}

/** kubectl through one gateway; throws with what it said unless it succeeds. */
export async function kubectl(stack: Stack, gateway: string, args: readonly string[], stdin?: string): Promise<string> {
  const context = `demo@${gateway}`;
  const { code, stdout, stderr } = await stack.kubectl(args, {
    context,
    timeoutMs: 60_000,
    ...(stdin === undefined ? {} : { stdin }),
  });
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')} through ${gateway}: ${stderr}`);
  return stdout;
}

/** `fairlead cluster show`, as JSON. */
export async function showCluster(stack: Stack, name: string): Promise<{ id: string; generation: number }> {
  const { code, stdout, stderr } = await stack.cli(['cluster', 'show', name, '-o', 'json']);
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as { id: string; generation: number };
}

export function adminToken(stack: Stack): Promise<string> {
  return readFile(stack.api.adminTokenFile, 'utf8').then((text) => text.trim());
}
