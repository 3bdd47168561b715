import { eventually } from '@fairlead/testing';
import { z } from 'zod';
import type { Sizes } from './sizes.js';
import { startTrial, type Trial } from './trial.js';
import { roll, type RollsWorld } from './world.js';

const Turn = z.object({ identity: z.string(), leads: z.boolean(), atMs: z.int() });
type Turn = z.infer<typeof Turn>;

/** A time as leader. */
export interface Reign {
  readonly identity: string;
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Elected {
  readonly rolls: number;
  readonly kills: number;
  /** In order of their beginning. */
  readonly reigns: readonly Reign[];
  /** Pairs that overlap: two leaders at once. */
  readonly twoAtOnce: readonly (readonly [Reign, Reign])[];
  /** The longest time without any leader. */
  readonly longestGapMs: number;
}

const SOON_MS = 60_000;

/** A candidate through each replica: both replicas are rolled in turn, then the leader is killed, again and again. */
export async function electWhileRolling(world: RollsWorld, sizes: Sizes): Promise<Elected> {
  await using election = new Election(world);
  for (const { name } of world.stack.gateways) await election.enter(name);
  await election.leader();
  let rolls = 0;
  for (; rolls < sizes.electionRolls * world.stack.gateways.length; rolls += 1) {
    // The one through which the leader holds its Lease.
    await roll(world, await election.leader(), sizes.pauseMs);
  }
  for (let kills = 0; kills < sizes.kills; kills += 1) {
    const leader = await election.leader();
    election.kill(leader);
    await election.leader();
    await election.enter(leader);
  }
  const reigns = await election.end();
  return { rolls, kills: sizes.kills, reigns, twoAtOnce: overlaps(reigns), longestGapMs: longestGap(reigns) };
}

class Election implements AsyncDisposable {
  readonly #world: RollsWorld;
  readonly #candidates = new Map<string, Trial>();
  /** Of candidates that are gone. */
  readonly #past: Reign[] = [];

  constructor(world: RollsWorld) {
    this.#world = world;
  }

  /** A candidate who reaches the cluster through that replica, and is called like it. */
  async enter(replica: string): Promise<void> {
    const { program, kubeconfig } = this.#world;
    const trial = startTrial(program.path, [
      'candidate',
      `--kubeconfig=${kubeconfig}`,
      `--context=demo@${replica}`,
      `--identity=${replica}`,
    ]);
    this.#candidates.set(replica, trial);
    await trial.hasTold(1, SOON_MS);
  }

  /** Who leads; waits while nobody does. */
  leader(): Promise<string> {
    return eventually(
      () => {
        const leaders = [...this.#candidates].filter(([, trial]) => turnsOf(trial).at(-1)?.leads);
        if (leaders.length !== 1) throw new Error(`${leaders.length} leaders`);
        return leaders[0]![0];
      },
      { timeoutMs: SOON_MS },
    );
  }

  kill(replica: string): void {
    const trial = this.#candidates.get(replica)!;
    this.#candidates.delete(replica);
    trial.kill();
    this.#past.push(...reignsOf(turnsOf(trial), Date.now()));
  }

  async end(): Promise<Reign[]> {
    for (const trial of this.#candidates.values()) {
      await trial.end(SOON_MS);
      this.#past.push(...reignsOf(turnsOf(trial), Date.now()));
    }
    return this.#past.toSorted((one, other) => one.fromMs - other.fromMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const trial of this.#candidates.values()) await trial[Symbol.asyncDispose]();
  }
}

function turnsOf(trial: Trial): Turn[] {
  return trial.told.flatMap((each) => Turn.safeParse(each).data ?? []);
}

/** One that has not ended by itself ended when its candidate did. */
function reignsOf(turns: readonly Turn[], endedMs: number): Reign[] {
  return turns.flatMap(({ identity, leads, atMs }, index) =>
    leads ? [{ identity, fromMs: atMs, toMs: turns[index + 1]?.atMs ?? endedMs }] : [],
  );
}

function overlaps(reigns: readonly Reign[]): [Reign, Reign][] {
  return reigns.flatMap((one, index) =>
    reigns.slice(index + 1).flatMap((other): [Reign, Reign][] => (other.fromMs < one.toMs ? [[one, other]] : [])),
  );
}

function longestGap(reigns: readonly Reign[]): number {
  return Math.max(0, ...reigns.slice(1).map((reign, index) => reign.fromMs - reigns[index]!.toMs));
}
