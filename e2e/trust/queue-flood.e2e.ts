import { createCsr, generatePrivateKey } from '@fairlead/pki';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readEvents } from '../support/events.js';
import { connectLink } from '../support/link-client.js';
import { invite, startLooseAgent } from '../support/loose-agent.js';
import { runAll } from '../support/pool.js';
import { usageOf } from '../support/proc.js';
import { queryDatabase } from '../support/service-database.js';
import { showCluster, startTestStack, type TestStack } from '../support/test-stack.js';

/** One address that asks for all it is worth, and many that stay below what is allowed to one. Together 10,000. */
const LOUD_REQUESTS = 500;
const QUIET_ADDRESSES = 475;
const QUIET_REQUESTS = 20;
const TOTAL = LOUD_REQUESTS + QUIET_ADDRESSES * QUIET_REQUESTS;
/** ADR 23. */
const QUEUE_HOLDS = 1_000;
const ONE_ADDRESS_HOLDS = 100;
const CONNECTIONS_AT_ONCE = 6;
const CALLS_AT_ONCE = 5;
/** When the flood is well under way, and the queue full. */
const MIDDLE = 4_000;
const GROWTH_MB = 150;
const TIMEOUT_MS = 600_000;
/** All that a stranger ever hears. */
const TOLD: ReadonlySet<string> = new Set([
  'waiting for an administrator to approve the key KEY',
  `${ONE_ADDRESS_HOLDS} agents from this address wait already; approve or reject them first`,
  `${QUEUE_HOLDS} agents wait already; approve or reject them first`,
  'too many agents without a token ask from this address; wait a moment',
]);

let running: TestStack;

beforeAll(async () => {
  running = await startTestStack({ demo: false });
});
afterAll(() => running?.[Symbol.asyncDispose]());

async function fairlead(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await running.stack.cli(args);
  if (code !== 0) throw new Error(`fairlead ${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** What strangers were answered: how often each code came, and every sentence, without the fingerprint of the stranger's own key. */
class Answers {
  readonly codes: Record<string, number> = {};
  readonly sentences = new Set<string>();
  count = 0;

  add({ code, message }: { readonly code: string; readonly message: string }): void {
    this.count += 1;
    this.codes[code] = (this.codes[code] ?? 0) + 1;
    this.sentences.add(message.replace(/\b[0-9a-f]{64}\b/, 'KEY'));
  }
}

/** Many agents, each with a key of its own and without a token, from one address. */
async function ask(gateway: string, address: string, requests: number, answers: Answers): Promise<void> {
  using client = await connectLink(gateway, address);
  await runAll(requests, CALLS_AT_ONCE, async () => {
    const csrDer = await createCsr(await generatePrivateKey());
    const answer = await client.enrol({ tokenId: '', secret: new Uint8Array(), csrDer });
    answers.add('code' in answer ? answer : { code: 'OK', message: 'a certificate' });
  });
}

async function flood(answers: Answers): Promise<void> {
  const links = running.stack.gateways.map(({ linkAddress }) => linkAddress);
  await ask(links[0] ?? '', '127.9.0.1', LOUD_REQUESTS, answers);
  await runAll(QUIET_ADDRESSES, CONNECTIONS_AT_ONCE, (index) => {
    const address = `127.10.${Math.floor(index / 250)}.${(index % 250) + 1}`;
    return ask(links[index % links.length] ?? '', address, QUIET_REQUESTS, answers);
  });
}

function residentMb(): Record<string, number> {
  const names = ['registration', 'gateway-a', 'gateway-b'];
  return Object.fromEntries(
    names.map((name) => [name, usageOf(running.stack.process(name).pid ?? 0)?.residentMb ?? 0]),
  );
}

it(
  '10,000 strangers fill the queue to its bound, learn nothing, and keep nobody with a token out',
  { timeout: TIMEOUT_MS },
  async () => {
    await fairlead('policy', 'set', 'queue');
    const invited = await invite(running.stack, 'invited');
    await fairlead('policy', 'set', 'token', '--cluster', 'invited');
    const before = residentMb();
    const answers = new Answers();
    const flooding = flood(answers);
    const meanwhile = (async () => {
      await eventually(() => expect(answers.count).toBeGreaterThan(MIDDLE), { timeoutMs: TIMEOUT_MS });
      await using agent = await startLooseAgent(running.stack, { invitation: invited });
      await agent.event('link.established');
      return answers.count;
    })();
    const [linkedAt] = await Promise.all([meanwhile, flooding]);
    expect(linkedAt).toBeLessThan(TOTAL);
    expect(answers.codes).toEqual({ ENROLMENT_PENDING: QUEUE_HOLDS, RATE_LIMITED: TOTAL - QUEUE_HOLDS });
    expect([...answers.sentences].filter((sentence) => !TOLD.has(sentence))).toEqual([]);
    const after = residentMb();
    for (const [name, mb] of Object.entries(after)) expect(mb - (before[name] ?? 0)).toBeLessThan(GROWTH_MB);
    const waiting = await queryDatabase<{ address: string; count: string }>(
      running.stack,
      'registration',
      'select remote_address as address, count(*) from registration.enrolment_requests group by 1',
    );
    const counts = waiting.map(({ count }) => Number(count));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(QUEUE_HOLDS);
    expect(Math.max(...counts)).toBe(ONE_ADDRESS_HOLDS);
    expect((await showCluster(running.stack, 'invited')).generation).toBe(1);
    await eventually(async () => {
      const types = (await readEvents(running.stack)).map(({ type }) => type);
      expect(types.filter((type) => type === 'dev.fairlead.enrolment.requested.v1')).toHaveLength(QUEUE_HOLDS);
      // Beyond the bounds nothing is told: a flood must not fill the log of events instead of the queue.
      expect(types.length).toBeLessThan(QUEUE_HOLDS + 100);
    });
  },
);
