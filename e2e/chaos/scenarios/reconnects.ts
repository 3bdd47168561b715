import { eventually } from '@fairlead/testing';
import { startAgentFleet, type FleetNews } from '../../support/agent-fleet.js';
import { usageOf } from '../../support/proc.js';
import { metricOf, pidOf } from '../../support/replicas.js';
import { quantile } from '../../support/pool.js';
import type { Findings } from '../findings.js';
import type { Scenario } from '../scenario.js';
import type { Replica } from '../world.js';

const BIN_MS = 100;
const BACK_WITHIN_MS = 120_000;
/** Of all arrivals at the replica that came back: a tenth in any 100 ms, and what chance adds in a small crowd. */
const mostInABin = (links: number): number => Math.ceil(links * (0.1 + 1.5 / Math.sqrt(links)));
/** A TLS handshake with a client certificate, Hello, and what is announced to NATS; and what a start costs by itself. */
const CPU_BOUND = { perLinkMs: 25, startMs: 5_000 };
/** So many times as much of it the same work may take where cores and caches are shared. */
const BUSY = 4;

/**
 * Many agents, all linked to one and the same replica, which is killed and started again: they lose their links in one
 * moment and have nowhere else to go. All come back, and not all in one moment.
 */
export const reconnects: Scenario = {
  letter: 'd',
  title: 'many agents reconnecting at once',
  async run(world, { fleetClusters, fleetLinks }, findings) {
    const replica = world.replicas[0] as Replica;
    const links = fleetClusters * fleetLinks;
    const endpoints = [replica.linkAddress];
    // One replica, so an agent keeps one link to it: as many agents as there are to be links.
    await using fleet = await startAgentFleet(world.stack, { links: 1, endpoints });
    const joiningMs = performance.now();
    await fleet.join(links, (linked) => (findings.doing = `${linked} of ${links} linked`));
    findings.figure('agents, each with an identity of its own', links);
    findings.figure('enrolled and linked in', (performance.now() - joiningMs) / 1_000, 's');
    findings.figure('gateway memory with all of them', usageOf(pidOf(world.stack, replica))?.residentMb ?? 0, 'MB');
    const known = fleet.news.length;
    const process = world.stack.process(replica.name);
    const killedAtMs = Date.now();
    process.kill('SIGKILL');
    await process.exited;
    await process.restart();
    const restartedAtMs = Date.now();
    const sinceThen = (): readonly FleetNews[] => fleet.news.slice(known);
    const allHeld = async (): Promise<void> => {
      requireAllBack(sinceThen(), links);
      const held = await metricOf(replica.healthUrl, 'fairlead_gateway_agent_sessions');
      if (held < links) throw new Error(`${replica.name} holds ${held} of ${links} links`);
    };
    await eventually(allHeld, { timeoutMs: BACK_WITHIN_MS }).catch((error: Error) =>
      findings.must(false, error.message),
    );
    const { cpuSeconds } = usageOf(pidOf(world.stack, replica)) ?? { cpuSeconds: 0 };
    judge({ news: sinceThen(), killedAtMs, restartedAtMs, links, cpuSeconds }, findings);
  },
};

/** Each agent keeps one link, and may lose it again on a busy machine. */
function requireAllBack(news: readonly FleetNews[], links: number): void {
  const back = new Set(news.filter(({ event }) => event === 'link.established').map(({ id }) => id));
  if (back.size < links) throw new Error(`${back.size} of ${links} came back`);
}

interface Comeback {
  readonly news: readonly FleetNews[];
  readonly killedAtMs: number;
  readonly restartedAtMs: number;
  readonly links: number;
  readonly cpuSeconds: number;
}

function judge({ news, killedAtMs, restartedAtMs, links, cpuSeconds }: Comeback, findings: Findings): void {
  const arrivals = news.filter(({ event }) => event === 'link.established').map(({ atMs }) => atMs - killedAtMs);
  const tries = news.filter(({ event }) => event === 'link.failed').map(({ atMs }) => atMs - killedAtMs);
  const fullest = Math.max(...histogram(arrivals));
  const boundSeconds = (CPU_BOUND.perLinkMs * links + CPU_BOUND.startMs) / 1_000;
  findings.figure('the replica was away for', (restartedAtMs - killedAtMs) / 1_000, 's');
  findings.figure(
    'back: half, nine of ten, all after',
    [0.5, 0.9, 1].map((share) => (quantile(arrivals, share) / 1_000).toFixed(1)).join(', '),
    's',
  );
  findings.figure('arrivals in the fullest 100 ms', `${fullest} of ${links} (bound ${mostInABin(links)})`);
  findings.figure('arrivals per second', perSecond(arrivals).join(' '));
  findings.figure(
    'tries in vain meanwhile',
    `${tries.length}, in the fullest 100 ms ${Math.max(0, ...histogram(tries))}`,
  );
  findings.figure(
    'CPU of the replica until all were back',
    `${cpuSeconds.toFixed(1)} s (bound ${boundSeconds.toFixed(1)})`,
  );
  findings.figure('why tries were in vain', countedCodes(news.filter(({ event }) => event === 'link.failed')));
  findings.figure('links lost once more', news.filter(({ event }) => event === 'link.lost').length - links);
  findings.mustInTime(fullest <= mostInABin(links), `${fullest} of ${links} came within 100 ms`);
  const price = `the replica used ${cpuSeconds.toFixed(1)} s of CPU for ${links} links`;
  findings.must(cpuSeconds <= BUSY * boundSeconds, price);
  findings.mustInTime(cpuSeconds <= boundSeconds, price);
}

function countedCodes(news: readonly FleetNews[]): string {
  const counts = new Map<string, number>();
  for (const { code, reason } of news) {
    const why = `${code} ${reason.replaceAll(/\d+/g, 'N')}`;
    counts.set(why, (counts.get(why) ?? 0) + 1);
  }
  return [...counts].map(([why, count]) => `${count} × ${why}`).join('; ');
}

function histogram(timesMs: readonly number[], binMs = BIN_MS): number[] {
  const bins: number[] = [];
  for (const time of timesMs) {
    const bin = Math.max(0, Math.floor(time / binMs));
    bins[bin] = (bins[bin] ?? 0) + 1;
  }
  return Array.from(bins, (count) => count ?? 0);
}

function perSecond(timesMs: readonly number[]): number[] {
  return histogram(timesMs, 1_000);
}
