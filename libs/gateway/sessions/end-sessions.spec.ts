import type { ClusterEntry } from '@fairlead/contracts';
import type { AgentSession } from '@fairlead/tunnel/gateway';
import type { NatsConnection, Status } from '@nats-io/transport-node';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { endOrphanedSessions } from './end-sessions.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A replica with links of these generations of one cluster, and a NATS that comes and goes. */
function replica(...generations: number[]) {
  const said = new TransformStream<Status, Status>();
  const writer = said.writable.getWriter();
  const nc = { isClosed: () => false, status: () => said.readable } as unknown as NatsConnection;
  let cluster: ClusterEntry | undefined;
  let changed: (clusterId: string) => void = () => expect.unreachable();
  const links = generations.map((generation) => ({ facts: { generation } }) as AgentSession);
  const directory = {
    clusterById: () => cluster,
    onClusterChange: (listener: typeof changed) => void (changed = listener),
  };
  const remove = (link: AgentSession): void => void links.splice(links.indexOf(link), 1);
  endOrphanedSessions(nc, directory, { everyOf: () => [...links], remove });
  return {
    linked: () => links.map(({ facts }) => facts.generation),
    change: (now: Partial<ClusterEntry> | undefined) => {
      cluster = now as ClusterEntry | undefined;
      changed('c1');
    },
    nats: async (type: 'disconnect' | 'reconnect') => {
      await writer.write({ type, server: 'nats' });
      await vi.advanceTimersByTimeAsync(0);
    },
  };
}

it.each([
  ['a deleted cluster', undefined, []],
  ['a replaced enrolment', { generation: 2 }, [2]],
])('ends the links of %s, once that is certain', async (_, now, left) => {
  const { change, linked } = replica(1, 2);
  change(now);
  await vi.advanceTimersByTimeAsync(2_900);
  expect(linked()).toEqual([1, 2]);
  await vi.advanceTimersByTimeAsync(200);
  expect(linked()).toEqual(left);
});

it('ends them also when NATS was away at that moment, once it is back', async () => {
  const { change, linked, nats } = replica(1, 2);
  change({ generation: 2 });
  await nats('disconnect');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(linked()).toEqual([1, 2]);
  await nats('reconnect');
  await vi.advanceTimersByTimeAsync(3_000);
  expect(linked()).toEqual([2]);
});
