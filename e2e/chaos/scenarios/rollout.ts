import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { eventually } from '@fairlead/testing';
import { gate, type Gate } from '../../support/tcp-target.js';
import { dial, Refused, roundTrip } from '../../support/transfers.js';
import { isReady } from '../../support/replicas.js';
import type { Findings } from '../findings.js';
import type { Scenario } from '../scenario.js';
import type { Replica, World } from '../world.js';
import { holdTransfers, tally } from './held-transfers.js';

const CLIENTS = 4;
const BALANCER_MS = 100;
const NOTICED_WITHIN_MS = 30_000;
const PAUSED_WITHIN_MS = 60_000;
const DRAINED_WITHIN_MS = 15_000;

/** All replicas are asked to stop in turn and started again, under load, as a Deployment rolls its pods. */
export const rollout: Scenario = {
  letter: 'b',
  title: 'SIGTERM of all replicas in turn under load',
  async run(world, { longOnes }, findings) {
    const load = new Load(world);
    try {
      for (const replica of world.replicas) await roll(world, replica, { longOnes, load }, findings);
    } finally {
      await load.stop();
    }
    findings.figure('short requests', load.done);
    findings.figure('short requests failed', load.failures.length);
    const { turnedAway } = load;
    findings.figure(
      'doors that closed before they answered',
      `${turnedAway.length} ${[...new Set(turnedAway)].join(', ')}`,
    );
    findings.must(turnedAway.length === 0, `doors closed on clients: ${turnedAway.length}`);
    findings.must(load.done > 0, 'no short request was made');
    findings.must(load.failures.length === 0, `short requests failed: ${[...new Set(load.failures)].join('; ')}`);
  },
};

interface Traffic {
  readonly longOnes: number;
  readonly load: Load;
}

async function roll(world: World, replica: Replica, { longOnes, load }: Traffic, findings: Findings): Promise<void> {
  const [prompt, late] = [`prompt-${replica.name}`, `late-${replica.name}`];
  // The counters of relayed tunnels are to count the long ones only.
  await load.pause();
  const prompts = await holdTransfers(world, prompt, longOnes / 2);
  const lates = await holdTransfers(world, late, longOnes / 2);
  load.resume();
  const process = world.stack.process(replica.name);
  const askedMs = performance.now();
  load.asked.add(replica);
  process.kill('SIGTERM');
  // It drains from now on: what runs has 5 s (PROTOCOL.md, Control), and those let go at once have to be whole.
  await eventually(() => requireUnready(replica), { timeoutMs: NOTICED_WITHIN_MS });
  await prompts.release();
  const finished = await tally(prompts.transfers);
  const { code, signal } = await process.exited;
  const drainMs = performance.now() - askedMs;
  await lates.release();
  const through = await tally(lates.transfers.filter(({ door }) => door === replica));
  const others = await tally(lates.transfers.filter(({ door }) => door !== replica));
  const crossed = lates.relayedTo.get(replica) ?? 0;
  findings.figure(`${replica.name}: drained in`, drainMs, 'ms');
  findings.figure(
    `${replica.name}: long ones that ended within the drain, whole`,
    `${finished.whole} of ${longOnes / 2}`,
  );
  findings.figure(
    `${replica.name}: longer ones told`,
    `${through.told} through its door, ${others.told} of ${crossed} relayed to it`,
  );
  findings.must(
    finished.whole === prompts.transfers.length,
    `${replica.name}: of those that ended within the drain ${JSON.stringify(finished)}`,
  );
  findings.must(
    through.cut + through.wrong + others.cut + others.wrong === 0,
    `${replica.name}: some were cut without an error or got wrong bytes: ${JSON.stringify({ through, others })}`,
  );
  findings.must(others.told === crossed, `${replica.name}: ${others.told} broke elsewhere, but ${crossed} crossed it`);
  findings.must(code === 0, `${replica.name} ended with ${code ?? signal}`);
  findings.mustInTime(drainMs < DRAINED_WITHIN_MS, `${replica.name} took ${Math.round(drainMs)} ms to end`);
  // A rollout waits until the new pod is ready, and for nothing else.
  await process.restart();
}

async function requireUnready(replica: Replica): Promise<void> {
  if (await isReady(replica)) throw new Error(`${replica.name} was asked to stop, and still says that it is ready`);
}

/** Short requests, one after the other per client, each through a door that a balancer holds to be alive. */
class Load {
  done = 0;
  /** Replicas that were asked to stop: no other has a reason to turn anybody away. */
  readonly asked = new Set<Replica>();
  /** Why doors closed before they answered. */
  readonly turnedAway: string[] = [];
  readonly failures: string[] = [];
  readonly #world: World;
  readonly #stopped = new AbortController();
  readonly #running: Promise<unknown>;
  #alive: readonly Replica[];
  #pause: Gate | null = null;
  #underWay = 0;

  constructor(world: World) {
    this.#world = world;
    this.#alive = world.replicas;
    const clients = Array.from({ length: CLIENTS }, () => this.#ask());
    this.#running = Promise.all([this.#balance(), ...clients]);
  }

  async stop(): Promise<void> {
    this.resume();
    this.#stopped.abort();
    await this.#running;
  }

  /** Resolves when no request is under way. */
  async pause(): Promise<void> {
    this.#pause ??= gate();
    await eventually(
      () => {
        if (this.#underWay > 0) throw new Error('requests are under way');
      },
      { timeoutMs: PAUSED_WITHIN_MS },
    );
  }

  resume(): void {
    this.#pause?.open();
    this.#pause = null;
  }

  /** Looks at readiness, as a load balancer does. */
  async #balance(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      const ready = await Promise.all(this.#world.replicas.map((replica) => isReady(replica)));
      this.#alive = this.#world.replicas.filter((_, index) => ready[index]);
      await sleep(BALANCER_MS);
    }
  }

  async #ask(): Promise<void> {
    for (let turn = 0; !this.#stopped.signal.aborted; turn += 1) {
      await this.#pause?.opened;
      const door = this.#alive[turn % Math.max(1, this.#alive.length)];
      if (door) await this.#one(door);
      else await sleep(BALANCER_MS);
    }
  }

  /**
   * A door must not close before it answered: it waits until the balancer has noticed. An answer other than 200 is a
   * failure, and so is a break after it.
   */
  async #one(door: Replica): Promise<void> {
    this.#underWay += 1;
    let socket: TLSSocket | undefined;
    try {
      socket = await dial(this.#world.way(door));
      socket.write('echo short 0\n');
      await roundTrip(socket);
      this.done += 1;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const closed = !socket && !(error instanceof Refused) && code !== 'ETIMEDOUT';
      if (closed && this.asked.has(door)) this.turnedAway.push(code ?? String(error));
      else this.failures.push(`${new Date().toISOString()} ${door.name}: ${String(error)}`);
    } finally {
      socket?.destroy();
      this.#underWay -= 1;
    }
  }
}
