import { eventually } from '@fairlead/testing';
import { runAll } from '../../support/pool.js';
import { gate, type Gate } from '../../support/tcp-target.js';
import { deliverPayload, dial, fetchPayload, nameIn, type Outcome } from '../../support/transfers.js';
import { relayedIn } from '../../support/replicas.js';
import type { Replica, World } from '../world.js';

const BYTES = 512 * 1024;
const OPENING_AT_ONCE = 16;
const MOVING_TIMEOUT_MS = 30_000;

/** A transfer that trickles until it is let go. */
export interface HeldTransfer {
  readonly direction: 'down' | 'up';
  readonly door: Replica;
  readonly outcome: Promise<Outcome>;
}

export interface HeldTransfers {
  readonly transfers: readonly HeldTransfer[];
  /** By replica: transfers that came in there from another replica's door. */
  readonly relayedTo: ReadonlyMap<Replica, number>;
  /** Lets them finish quickly, the downloads first. Resolves when all are over. */
  readonly release: () => Promise<void>;
}

/**
 * Begins transfers through all doors in turn, half of them downloads and half uploads. Resolves when bytes of every one
 * have arrived. The replicas' own counters tell how many of them cross which relay.
 */
export async function holdTransfers(world: World, group: string, count: number): Promise<HeldTransfers> {
  const [downloads, uploads] = [gate(), gate()];
  world.target.gates.set(group, downloads);
  const before = await relayCounts(world);
  const transfers: HeldTransfer[] = [];
  const moved = new Set<number>();
  await runAll(count, OPENING_AT_ONCE, async (index) => {
    const door = world.replicas[index % world.replicas.length] as Replica;
    transfers.push(await begin(world, door, { name: nameIn(group, index), index, held: uploads, moved }));
  });
  await eventually(
    () => {
      for (let index = 1; index < count; index += 2) {
        if ((world.target.received.get(nameIn(group, index)) ?? 0) > 0) moved.add(index);
      }
      if (moved.size < count) throw new Error(`only ${moved.size} of ${count} transfers move`);
    },
    { timeoutMs: MOVING_TIMEOUT_MS },
  );
  const after = await relayCounts(world);
  const relayedTo = new Map(world.replicas.map((each) => [each, (after.get(each) ?? 0) - (before.get(each) ?? 0)]));
  const release = async (): Promise<void> => {
    for (const [isNext, held] of [
      [isDownload, downloads],
      [isUpload, uploads],
    ] as const) {
      held.open();
      await Promise.all(transfers.filter(isNext).map(({ outcome }) => outcome));
    }
  };
  return { transfers, relayedTo, release };
}

const isDownload = ({ direction }: HeldTransfer): boolean => direction === 'down';
const isUpload = ({ direction }: HeldTransfer): boolean => direction === 'up';

/** How many ended in each way. */
export async function tally(transfers: readonly HeldTransfer[]): Promise<Record<Outcome, number>> {
  const counts = { whole: 0, told: 0, cut: 0, wrong: 0 };
  for (const { outcome } of transfers) counts[await outcome] += 1;
  return counts;
}

interface Beginning {
  readonly name: string;
  readonly index: number;
  readonly held: Gate;
  readonly moved: Set<number>;
}

/** Resolves once the door has let it in. */
async function begin(world: World, door: Replica, { name, index, held, moved }: Beginning): Promise<HeldTransfer> {
  const socket = await dial(world.way(door));
  const direction = index % 2 === 0 ? 'down' : 'up';
  const outcome =
    direction === 'down'
      ? fetchPayload(socket, 'send-paced', name, BYTES, { onBytes: () => moved.add(index) })
      : deliverPayload(socket, 'receive', name, BYTES, held);
  return { direction, door, outcome };
}

async function relayCounts(world: World): Promise<ReadonlyMap<Replica, number>> {
  const counts = await Promise.all(world.replicas.map((replica) => relayedIn(replica)));
  return new Map(world.replicas.map((replica, index) => [replica, counts[index] ?? 0]));
}
