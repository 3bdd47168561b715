// Holds many of Fairlead's agents in one process, each with its own identity and its own link. Its standard input is lines:
// first what it needs as JSON, then `link` and `unlink` by turns; it answers each of these with {"linked": N} when done, and
// ends with its input. Identities are enrolled for when they are first linked, and kept in memory.
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { identityStore, parseEndpoint, runAgent, type Agent, type TextStore } from '@fairlead/agent';
import { silentLogger } from '@fairlead/observability';
import { z } from 'zod';

const Setup = z.object({
  endpoint: z.string(),
  pins: z.array(z.string()),
  /** A bootstrap token each: secrets. */
  tokens: z.array(z.string()),
});
type Setup = z.output<typeof Setup>;

/** Started at the same time; more would only wait for each other's handshakes. */
const AT_ONCE = 8;
const POLL_MS = 5;

interface Idle {
  readonly token: string;
  readonly store: TextStore;
}

await main();

async function main(): Promise<void> {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const first = await lines.next();
  if (first.done) return;
  const setup = Setup.parse(JSON.parse(first.value));
  const idle = setup.tokens.map((token) => ({ token, store: memoryStore() }));
  for (let line = await lines.next(); !line.done; line = await lines.next()) {
    const stop = new AbortController();
    const agents = await linkAll(setup, idle, stop.signal);
    process.stdout.write(`${JSON.stringify({ linked: agents.length })}\n`);
    await lines.next();
    stop.abort();
    await Promise.all(agents.map(({ done }) => done));
    process.stdout.write(`${JSON.stringify({ linked: 0 })}\n`);
  }
}

async function linkAll(setup: Setup, idle: readonly Idle[], signal: AbortSignal): Promise<Agent[]> {
  const agents: Agent[] = [];
  const waiting = [...idle];
  const worker = async (): Promise<void> => {
    for (let next = waiting.pop(); next; next = waiting.pop()) agents.push(await linked(setup, next, signal));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return agents;
}

async function linked({ endpoint, pins }: Setup, { token, store }: Idle, signal: AbortSignal): Promise<Agent> {
  const agent = runAgent(
    {
      endpoints: [parseEndpoint(endpoint)],
      proxy: { noProxy: [] },
      pins,
      links: 1,
      store: identityStore(store),
      token: () => Promise.resolve(token),
      kubeApi: { host: '127.0.0.1', port: 9, caPem: '', token: () => Promise.resolve('') },
      facts: { agentVersion: 'bench', kubernetesVersion: '', platform: '' },
      logger: silentLogger,
    },
    signal,
  );
  while (agent.readiness().some(({ ok }) => !ok)) await sleep(POLL_MS);
  return agent;
}

function memoryStore(): TextStore {
  const values: Record<string, string> = {};
  return {
    read: () => Promise.resolve({ values }),
    write: (changed) => {
      Object.assign(values, changed);
      return Promise.resolve();
    },
  };
}
