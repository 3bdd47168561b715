import { afterAll, beforeAll, expect, it } from 'vitest';
import { Findings } from '../chaos/findings.js';
import { fullDisk, killed } from './kills/disturbances.js';
import { judge } from './kills/judge.js';
import { SCALED } from './kills/sizes.js';
import { startAuditWorld, type AuditWorld } from './kills/world.js';

/** Several times what it takes. */
const TEST_TIMEOUT_MS = 600_000;
const SOON_MS = 120_000;
/** Between two disturbances, so that each finds what was before whole. */
const BETWEEN = 45;

let world: AuditWorld;

beforeAll(async () => {
  world = await startAuditWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

it(
  'under load, while each process is killed in turn and a disk is full, no write that was answered is missing in the log, and nothing is there twice',
  { timeout: TEST_TIMEOUT_MS },
  async () => {
    const { stack } = world;
    const findings = new Findings(SCALED);
    const load = world.startLoad(SCALED);
    await using _ending = load;
    // The audit service first: what it dies with comes again after 30 s, and of gateways it has to have listened for 15.
    const disturbances = [
      killed('audit'),
      killed('nats'),
      killed('postgres'),
      killed('gateway-a'),
      fullDisk,
      killed('gateway-b'),
    ];
    for (const [at, disturb] of disturbances.entries()) {
      await load.more(BETWEEN, SOON_MS);
      await disturb(world, at + 1);
    }
    const done = await load.end(SOON_MS);
    const found = await judge(world, done, findings);
    expect(findings.faults.join('\n')).toBe('');
    expect(done.refused['AUDIT_UNAVAILABLE']).toBeGreaterThan(0);
    expect(found.lost).toBeGreaterThan(0);
    expect(found.once).toBeGreaterThan(SCALED.requests / 2);
    expect(stack.processes.filter(({ pid }) => pid === undefined)).toEqual([]);
  },
);
