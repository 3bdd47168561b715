import type { Findings } from '../chaos/findings.js';
import { quantile } from '../support/pool.js';
import { startBareServer } from './bare-server.js';
import { flood } from './generator.js';
import { kindsOf, type FloodKind } from './kinds.js';
import type { FloodScenario } from './scenario.js';
import type { FloodSizes } from './sizes.js';
import { askUntil } from './user.js';
import type { FloodWorld } from './world.js';
import { watched } from './watched.js';

/** One that asks for calls, and one that does not. */
const KINDS: ReadonlySet<string> = new Set(['headers', 'data']);

/**
 * The same floods at a TLS server that only accepts and closes, while the same user goes through a replica that nobody floods: what a user waits then is the
 * machine's, which who floods and handshakes share with all others, and nothing of a gateway's.
 */
export const BARE_SCENARIOS: readonly FloodScenario[] = kindsOf('link')
  .filter(({ name }) => KINDS.has(name))
  .map((kind) => ({
    letter: `bare/${kind.name}`,
    title: `${kind.name} at a TLS server that only accepts and closes`,
    run: (world, sizes, findings) => floodBare(world, kind, sizes, findings),
  }));

function floodBare(world: FloodWorld, kind: FloodKind, sizes: FloodSizes, findings: Findings): Promise<void> {
  const { connections, share, seconds, mostSeconds, idlePings } = sizes;
  findings.doing = 'waiting for its turn';
  return world.withReplica(({ way }) =>
    world.alone(async () => {
      await using bare = await startBareServer();
      findings.doing = 'a user alone';
      const idle = await askUntil(way, (asked) => asked >= idlePings);
      const cpuBefore = bare.cpuSeconds();
      findings.doing = 'flooding';
      const order = { of: 'link', kind: kind.name, ...bare.address, connections, share, seconds, mostSeconds } as const;
      const flooding = watched(flood({ ...order, untilClosed: connections }));
      const during = await askUntil(way, flooding.isOver);
      const { opened, closed, cpuSeconds } = await flooding.done;
      const [idleMs, floodedMs] = [quantile(idle.ms, 0.99), quantile(during.ms, 0.99)];
      findings.figure('p99 of a user, idle', idleMs, 'ms');
      findings.figure('p99 of a user, flooded', floodedMs, `ms of ${during.ms.length}`);
      findings.figure('times idle', floodedMs / idleMs);
      findings.figure('connections', `${opened} shook hands, ${closed} of them were closed`);
      findings.figure('CPU of who floods', cpuSeconds, 's');
      findings.figure('CPU for each connection', (1_000 * (bare.cpuSeconds() - cpuBefore)) / Math.max(1, opened), 'ms');
      findings.must(opened > 0, 'nobody got as far as to flood');
    }),
  );
}
