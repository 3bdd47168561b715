import { setTimeout as delay } from 'node:timers/promises';
import type { Findings } from '../chaos/findings.js';
import { quantile } from '../support/pool.js';
import { BARE_SCENARIOS } from './bare-scenarios.js';
import { flood, type FloodReport } from './generator.js';
import { kindsOf, type FloodKind, type Port } from './kinds.js';
import type { FloodScenario } from './scenario.js';
import type { FloodSizes } from './sizes.js';
import { askUntil, type Served } from './user.js';
import { watched } from './watched.js';
import type { FloodWorld, FloodedReplica } from './world.js';

const MOST_GROWTH_MB = 100;
const MOST_LEFT_MB = 30;
const MOST_SLOWER = 3;
const SAMPLE_MS = 100;
const PORTS: readonly Port[] = ['link', 'relay', 'kube-api', 'connect'];

/** Every kind of flood at every port, and what the machine alone makes of two of them. The letter of one is its port and its kind: `link/headers`. */
export const FLOOD_SCENARIOS: readonly FloodScenario[] = [
  ...BARE_SCENARIOS,
  ...PORTS.flatMap((port) =>
    kindsOf(port).map((kind): FloodScenario => ({
      letter: `${port}/${kind.name}`,
      title: `${kind.name} at the ${port} port`,
      run: (world, sizes, findings) => floodOnce(world, port, kind, { sizes, findings }),
    })),
  ),
];

interface Judged {
  readonly sizes: FloodSizes;
  readonly findings: Findings;
}

function floodOnce(world: FloodWorld, of: Port, kind: FloodKind, { sizes, findings }: Judged): Promise<void> {
  const { restSeconds } = sizes;
  findings.doing = 'waiting for its turn';
  return world.withReplica(async (replica) => {
    const beforeMb = await world.alone(() => floodReplica(replica, of, kind, { sizes, findings }));
    if (restSeconds === 0) return;
    findings.doing = 'resting';
    await delay(restSeconds * 1_000);
    const afterMb = replica.residentMb();
    findings.figure(`resident ${restSeconds} s after`, afterMb, 'MB');
    findings.must(afterMb - beforeMb <= MOST_LEFT_MB, `the gateway kept ${(afterMb - beforeMb).toFixed()} MB`);
  });
}

/** Resolves with what the replica held before, MB. */
async function floodReplica(
  replica: FloodedReplica,
  of: Port,
  kind: FloodKind,
  { sizes, findings }: Judged,
): Promise<number> {
  const { connections, share, seconds, mostSeconds, idlePings } = sizes;
  findings.doing = 'a user alone';
  const idleMs = await replica.idle.p99Ms(of, idlePings);
  const [beforeMb, endedBefore, cpuBefore] = [replica.residentMb(), await replica.ended(), replica.cpuSeconds()];
  findings.doing = 'flooding';
  const order = { of, kind: kind.name, ...replica.addressOf(of), connections, share, seconds, mostSeconds };
  const flooding = watched(flood({ ...order, untilClosed: connections }));
  const [peakMb, during] = await Promise.all([
    peakOf(replica, flooding.isOver),
    askUntil(replica.way, flooding.isOver),
  ]);
  const report = await flooding.done;
  const cpuSeconds = replica.cpuSeconds() - cpuBefore;
  const ended = (await replica.ended()) - endedBefore;
  findings.figure('resident before', beforeMb, 'MB');
  findings.figure('resident at most', peakMb, 'MB');
  findings.must(peakMb - beforeMb <= MOST_GROWTH_MB, `the gateway grew by ${(peakMb - beforeMb).toFixed()} MB`);
  judgeUser(findings, idleMs, during);
  judgeConnections(findings, report, { connections, ended });
  findings.figure('CPU of the gateway', `${cpuSeconds.toFixed(1)} s, what its user asks for included`);
  return beforeMb;
}

function judgeConnections(
  findings: Findings,
  { opened, closed, refused, steps, bytes, cpuSeconds }: FloodReport,
  { connections, ended }: { readonly connections: number; readonly ended: number },
): void {
  findings.figure(
    'connections',
    `${opened} shook hands, ${closed} of them were closed, ${refused} did not; ${ended} ended for abuse`,
  );
  findings.figure('sent', `${steps} steps, ${(bytes / 1e6).toFixed(1)} MB, ${cpuSeconds.toFixed(1)} s of CPU`);
  findings.must(opened + refused > 0, 'nobody got as far as to flood');
  findings.must(
    closed + refused >= Math.min(connections, opened + refused),
    `of ${opened} connections ${closed} were closed`,
  );
}

function judgeUser(findings: Findings, idle: number, during: Served): void {
  const flooded = quantile(during.ms, 0.99);
  findings.figure('p99 of a user, idle', idle, 'ms');
  findings.figure('p99 of a user, flooded', flooded, `ms of ${during.ms.length}`);
  findings.must(
    during.failed.length === 0,
    `of the user's requests ${during.failed.length} failed: ${during.failed[0]}`,
  );
  findings.figure('times idle', flooded / idle);
  findings.mustInTime(flooded < MOST_SLOWER * idle, `a user waited ${(flooded / idle).toFixed(1)} times as long`);
}

async function peakOf(replica: FloodedReplica, isOver: () => boolean): Promise<number> {
  let peakMb = 0;
  while (!isOver()) {
    peakMb = Math.max(peakMb, replica.residentMb());
    await delay(SAMPLE_MS);
  }
  return peakMb;
}
