import { testAuthority, type TestAuthority } from '@fairlead/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import type { AgentIdentity } from './agent-identity.js';
import { RenewalPlan } from './renewal-plan.js';

const HOUR_MS = 3_600_000;
const BEGIN_MS = Date.UTC(2030, 0, 1);

let ours: TestAuthority;
let next: TestAuthority;

beforeAll(async () => {
  [ours, next] = await Promise.all([testAuthority(), testAuthority()]);
});

async function identity(hours: number, rootsPem: readonly string[]): Promise<AgentIdentity> {
  const clusterId = crypto.randomUUID();
  const window = { notBefore: new Date(BEGIN_MS), notAfter: new Date(BEGIN_MS + hours * HOUR_MS) };
  const { privateKeyPem, chain } = await ours.agent(clusterId, window);
  return {
    clusterId,
    generation: 1,
    trustDomain: ours.trustDomain,
    keyPem: privateKeyPem,
    chainPem: [...chain],
    rootsPem: [...rootsPem],
    trustVersion: 1,
  };
}

/** Hours after the certificate's begin. */
const due = (plan: RenewalPlan, held: AgentIdentity, atHour: number): number =>
  (plan.dueAtMs(held, BEGIN_MS + atHour * HOUR_MS) - BEGIN_MS) / HOUR_MS;

describe('a certificate is renewed', () => {
  it('at two thirds of its life while its root is the active one, each pod at a moment of its own, whichever others count', async () => {
    const plan = new RenewalPlan(() => 0.5);
    expect(due(plan, await identity(24, ours.roots), 3)).toBe(16.125);
    expect(due(plan, await identity(24, [...ours.roots, ...next.roots]), 3)).toBe(16.125);
    expect(due(new RenewalPlan(() => 0), await identity(24, ours.roots), 3)).toBe(16);
  });

  it('each of its certificates at another moment, so that two pods that once were close are not so for ever', async () => {
    const drawn = [0.5, 0.25];
    const plan = new RenewalPlan(() => drawn.shift() ?? 0);
    const [first, second] = [await identity(2.4, ours.roots), await identity(2.4, ours.roots)];
    expect(due(plan, first, 1)).toBeCloseTo(1.65, 5);
    expect(due(plan, first, 1.5)).toBeCloseTo(1.65, 5);
    expect(due(plan, second, 1)).toBeCloseTo(1.625, 5);
  });

  it.each([
    [24, 0.25],
    [48, 0.25],
    [2.4, 0.025],
  ])('of %d hours within %d hours of another root’s becoming active, at one moment', async (life, spread) => {
    const held = await identity(life, [...next.roots, ...ours.roots]);
    for (const random of [0, 0.5, 0.999]) {
      const plan = new RenewalPlan(() => random);
      expect(due(plan, held, 1)).toBeCloseTo(1 + random * spread, 5);
      // Looked at again later, it is the same moment.
      expect(due(plan, held, 1.01)).toBeCloseTo(1 + random * spread, 5);
    }
  });

  it('no later than it would have been anyhow', async () => {
    const held = await identity(24, [...next.roots, ...ours.roots]);
    expect(due(new RenewalPlan(() => 0.999), held, 16.1)).toBeCloseTo(16.24975, 5);
  });

  it('not again at once, though it is of the other root still, or a clock is ahead', async () => {
    const plan = new RenewalPlan(() => 0);
    const held = await identity(24, [...next.roots, ...ours.roots]);
    expect(due(plan, held, 1)).toBe(1);
    plan.renewed(held, BEGIN_MS + HOUR_MS);
    expect(due(plan, held, 1)).toBeCloseTo(1.25, 5);
    const ahead = new RenewalPlan(() => 0);
    const own = await identity(24, ours.roots);
    ahead.renewed(own, BEGIN_MS + 100 * HOUR_MS);
    expect(due(ahead, own, 100)).toBe(102);
  });
});
