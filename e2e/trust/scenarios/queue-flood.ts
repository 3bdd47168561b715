import type { Stack } from '@fairlead/stack';
import { eventually } from '@fairlead/testing';
import type { AnyWorld } from '../../chaos/any-world.js';
import type { Findings } from '../../chaos/findings.js';
import type { Scenario } from '../../chaos/scenario.js';
import { readEvents } from '../../support/events.js';
import { invite, startLooseAgent, type Invitation } from '../../support/loose-agent.js';
import { usageOf } from '../../support/proc.js';
import { queryDatabase } from '../../support/service-database.js';
import { showCluster, startTestStack } from '../../support/test-stack.js';
import type { TrustSizes } from '../sizes.js';
import { fairlead } from '../../support/fairlead.js';
import { Answers, flood, floodOf } from './flood.js';

/** ADR 23. */
const QUEUE_HOLDS = 1_000;
const ONE_ADDRESS_HOLDS = 100;
const GROWTH_MB = 150;
const SETTLE_MS = 60_000;
const TIMEOUT_MS = 600_000;
/** All that the unauthenticated ever hear. */
const TOLD: ReadonlySet<string> = new Set([
  'waiting for an administrator to approve the key KEY',
  `${ONE_ADDRESS_HOLDS} agents from this address wait already; approve or reject them first`,
  `${QUEUE_HOLDS} agents wait already; approve or reject them first`,
  'too many agents without a token ask from this address; wait a moment',
]);

/** The unauthenticated fill the adoption queue to its bound: they learn nothing, and keep nobody with a token out. */
export const queueFlood: Scenario<AnyWorld, TrustSizes> = {
  letter: 'f',
  title: 'a flood of agents that ask to be adopted',
  async run(_world, { floodAddresses }, findings) {
    await using running = await startTestStack({ demo: false });
    const { stack } = running;
    await fairlead(stack, 'policy', 'set', 'queue');
    const invited = await invite(stack, 'invited');
    await fairlead(stack, 'policy', 'set', 'token', '--cluster', 'invited');
    const total = floodOf(floodAddresses);
    const before = residentMb(stack);
    const answers = new Answers();
    const beganMs = performance.now();
    // In the middle of it the queue is full.
    const [linkedAt] = await Promise.all([
      enrolAfter(stack, invited, () => answers.count >= Math.max(QUEUE_HOLDS * 1.5, total * 0.4) && answers.count),
      flood(stack, floodAddresses, answers),
    ]);
    findings.figure('requests', total);
    findings.figure('took', (performance.now() - beganMs) / 1_000, 's');
    findings.figure('answered before the agent with a token was linked', linkedAt);
    findings.mustInTime(linkedAt < total, 'the agent with a token was linked only when the flood was over');
    judgeAnswers(findings, answers, total);
    await judgeMemory(findings, stack, before);
    await judgeQueue(findings, stack);
    findings.must((await showCluster(stack, 'invited')).generation === 1, 'the invited agent is not of generation 1');
    await judgeEvents(findings, stack);
  },
};

/** An agent with a token, started once `underWay` says so. Resolves to how many requests had been answered when it was linked. */
async function enrolAfter(stack: Stack, invitation: Invitation, underWay: () => number | false): Promise<number> {
  await eventually(
    () => {
      if (underWay() === false) throw new Error('the flood is not under way');
    },
    { timeoutMs: TIMEOUT_MS },
  );
  await using agent = await startLooseAgent(stack, { invitation });
  await agent.event('link.established');
  return underWay() || 0;
}

function judgeAnswers(findings: Findings, { codes, sentences }: Answers, total: number): void {
  const expected = { ENROLMENT_PENDING: QUEUE_HOLDS, RATE_LIMITED: total - QUEUE_HOLDS };
  const same =
    Object.keys(codes).length === 2 &&
    codes['ENROLMENT_PENDING'] === expected.ENROLMENT_PENDING &&
    codes['RATE_LIMITED'] === expected.RATE_LIMITED;
  findings.figure('answers', JSON.stringify(codes));
  findings.must(same, `answered ${JSON.stringify(codes)}, not ${JSON.stringify(expected)}`);
  const more = [...sentences].filter((sentence) => !TOLD.has(sentence));
  findings.must(more.length === 0, `the unauthenticated were told: ${more.join('; ')}`);
}

/** What is held stays; what is garbage goes in a while. */
async function judgeMemory(findings: Findings, stack: Stack, before: Readonly<Record<string, number>>): Promise<void> {
  const growth = (): [string, number][] =>
    Object.entries(residentMb(stack)).map(([name, mb]) => [name, mb - (before[name] ?? 0)]);
  const requireLittle = async (): Promise<void> => {
    const over = growth().filter(([, mb]) => mb >= GROWTH_MB);
    if (over.length === 0) return;
    await showCluster(stack, 'invited');
    throw new Error(over.map(([name, mb]) => `${name} grew by ${mb.toFixed(0)} MB`).join(', '));
  };
  await eventually(requireLittle, { timeoutMs: SETTLE_MS }).catch((error: Error) =>
    findings.must(false, error.message),
  );
  for (const [name, mb] of growth()) findings.figure(`memory of ${name} grew by`, mb, 'MB');
}

async function judgeQueue(findings: Findings, stack: Stack): Promise<void> {
  const waiting = await queryDatabase<{ address: string; count: string }>(
    stack,
    'registration',
    'select remote_address as address, count(*) from registration.enrolment_requests group by 1',
  );
  const counts = waiting.map(({ count }) => Number(count));
  const held = counts.reduce((sum, count) => sum + count, 0);
  findings.figure('wait in the queue', held);
  findings.must(held === QUEUE_HOLDS, `${held} wait, not ${QUEUE_HOLDS}`);
  const most = Math.max(...counts);
  findings.must(most === ONE_ADDRESS_HOLDS, `${most} of one address wait, not ${ONE_ADDRESS_HOLDS}`);
}

/** Beyond the bounds nothing is told: a flood must not fill the log of events instead of the queue. */
async function judgeEvents(findings: Findings, stack: Stack): Promise<void> {
  const types = await eventually(async () => {
    const all = (await readEvents(stack)).map(({ type }) => type);
    const requested = all.filter((type) => type === 'dev.fairlead.enrolment.requested.v1').length;
    if (requested !== QUEUE_HOLDS) throw new Error(`${requested} events of requests`);
    return all;
  });
  findings.figure('events', types.length);
  findings.must(types.length < QUEUE_HOLDS + 100, `the flood made ${types.length} events`);
}

function residentMb(stack: Stack): Record<string, number> {
  const names = ['registration', 'gateway-a', 'gateway-b'];
  return Object.fromEntries(names.map((name) => [name, usageOf(stack.process(name).pid ?? 0)?.residentMb ?? 0]));
}
