import { setTimeout as sleep } from 'node:timers/promises';
import type { StackProcess } from '@fairlead/stack';
import type { Findings } from '../../chaos/findings.js';
import type { Scenario } from '../../chaos/scenario.js';
import { metricOf } from '../../support/replicas.js';
import { fullDisk, gatewaysInTurn, killed, type Disturb } from './disturbances.js';
import { judge } from './judge.js';
import type { Load } from './load.js';
import { ON_SMALL_DISK, type AuditWorld } from './world.js';
import type { AuditSizes } from './sizes.js';

/** Hours, so that one that stands still ends. */
const LOAD_TIMEOUT_MS = 3 * 3_600_000;

function underLoad(letter: string, title: string, disturb: Disturb): Scenario<AuditWorld, AuditSizes> {
  return {
    letter,
    title,
    async run(world, { requests, perSecond, times }, findings) {
      await using load = world.startLoad({ requests, perSecond });
      for (let nth = 1; nth <= times; nth += 1) {
        findings.doing = `${load.made} of ${requests} requests`;
        await load.reached((nth * requests) / (times + 1), LOAD_TIMEOUT_MS);
        await disturb(world, nth);
      }
      await judge(world, await load.end(LOAD_TIMEOUT_MS), findings);
    },
  };
}

/** A part of a load, by what reads took meanwhile. */
interface Phase {
  readonly p50: number;
  readonly p99: number;
}

const LEFT_BEHIND = 1_000;
const LOOK_EVERY_MS = 1_000;
/** Reads do not wait for NATS, and catching up leaves them the machine: the p50 of reads grows by so much at most. */
const AWAY_FACTOR = 1.5;
const CATCHING_UP_FACTOR = 2;
/** What a gateway hands on in a second at most, and what it may have had under way when it was looked at. */
const MOST_PER_SECOND = 8_000 + 500;

const natsAway: Scenario<AuditWorld, AuditSizes> = {
  letter: 'f',
  title: 'NATS away for ten minutes, under a steady load',
  async run(world, { awayMs, awayPerSecond }, findings) {
    const { stack } = world;
    const nats = stack.process('nats');
    await using load = world.startLoad({ requests: 1, perSecond: awayPerSecond });
    const before = await phase(load, awayMs / 5);
    const away = await without(nats, () => phase(load, awayMs));
    findings.figure('records that wait in spools when it is back', await waiting(world));
    const { most, seconds, phase: after } = await caughtUp(world, load);
    tell(findings, { before, 'while it is away': away, 'while gateways catch up': after });
    findings.figure('gateways had caught up after', seconds, 's');
    findings.figure('records of one gateway handed on, at most', most, '1/s');
    findings.must(most <= MOST_PER_SECOND, `a gateway handed on ${most} records in a second`);
    const within = (figure: Phase, factor: number): boolean => figure.p50 <= before.p50 * factor + 1;
    findings.mustInTime(
      within(away, AWAY_FACTOR),
      `reads took ${away.p50} ms while NATS was away, and ${before.p50} before`,
    );
    findings.mustInTime(within(after, CATCHING_UP_FACTOR), `reads took ${after.p50} ms while gateways caught up`);
    const done = await load.end(LOAD_TIMEOUT_MS);
    findings.must(Object.keys(done.refused).length === 0, `refused: ${JSON.stringify(done.refused)}`);
    findings.must(done.noAnswer === 0, `${done.noAnswer} requests had no answer`);
    await judge(world, done, findings);
  },
};

async function without<T>(taken: StackProcess, during: () => Promise<T>): Promise<T> {
  taken.kill('SIGKILL');
  await taken.exited;
  try {
    return await during();
  } finally {
    await taken.restart();
  }
}

async function phase(load: Load, ms: number): Promise<Phase> {
  load.takeReadTimes();
  await sleep(ms);
  return phaseOf(load.takeReadTimes());
}

function phaseOf(times: readonly number[]): Phase {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

function tell(findings: Findings, phases: Readonly<Record<string, Phase>>): void {
  for (const [when, { p50, p99 }] of Object.entries(phases)) {
    findings.figure(`reads ${when}, p50`, p50, 'ms');
    findings.figure(`reads ${when}, p99`, p99, 'ms');
  }
}

async function waiting({ stack }: AuditWorld): Promise<number> {
  const each = stack.gateways.map(({ healthUrl }) => metricOf(healthUrl, 'fairlead_gateway_audit_records'));
  return (await Promise.all(each)).reduce((sum, records) => sum + records, 0);
}

/** Until spools are as good as empty: how fast a gateway was at most, and what reads took. */
async function caughtUp(
  world: AuditWorld,
  load: Load,
): Promise<{ readonly most: number; readonly seconds: number; readonly phase: Phase }> {
  const forwarded = (): Promise<number[]> =>
    Promise.all(
      world.stack.gateways.map(({ healthUrl }) => metricOf(healthUrl, 'fairlead_gateway_audit_forwarded_total')),
    );
  load.takeReadTimes();
  const beganMs = performance.now();
  let [most, last, lastMs] = [0, await forwarded(), beganMs];
  do {
    await sleep(LOOK_EVERY_MS);
    const [now, nowMs] = [await forwarded(), performance.now()];
    const rates = now.map((each, at) => ((each - (last[at] ?? 0)) * 1_000) / (nowMs - lastMs));
    [most, last, lastMs] = [Math.max(most, ...rates), now, nowMs];
  } while ((await waiting(world)) > LEFT_BEHIND && lastMs - beganMs < LOAD_TIMEOUT_MS);
  return { most: Math.round(most), seconds: (lastMs - beganMs) / 1_000, phase: phaseOf(load.takeReadTimes()) };
}

/** A gateway whose disk was full is killed, too: what it began and could not end on record has no end that anybody can tell. */
const fullAndKilled: Disturb = async (world, nth) => {
  await fullDisk(world, nth);
  await killed(ON_SMALL_DISK)(world, nth);
};

export const AUDIT_SCENARIOS: readonly Scenario<AuditWorld, AuditSizes>[] = [
  underLoad('a', 'gateways killed in turn', gatewaysInTurn(0)),
  underLoad('b', 'the audit service killed', killed('audit')),
  underLoad('c', 'nats-server killed', killed('nats')),
  underLoad('d', 'Postgres killed', killed('postgres')),
  underLoad('e', 'the disk of a spool full, and its gateway killed', fullAndKilled),
  natsAway,
];
