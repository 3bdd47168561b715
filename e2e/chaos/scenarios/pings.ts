import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { quantile } from '../../support/pool.js';
import { dial, roundTrip, type Way } from '../../support/transfers.js';

const PAUSE_MS = 20;

/** Pings on standing connections, one through each way, until they are stopped. */
export class Pings {
  readonly milliseconds: number[] = [];
  readonly failures: string[] = [];
  readonly #stopped = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  static async start(ways: readonly Way[]): Promise<Pings> {
    const pings = new Pings();
    const sockets = await Promise.all(ways.map((way) => dial(way)));
    pings.#running = Promise.all(sockets.map((socket) => pings.#go(socket)));
    return pings;
  }

  get p99Ms(): number {
    return quantile(this.milliseconds, 0.99);
  }

  get slowestMs(): number {
    return Math.max(0, ...this.milliseconds);
  }

  async stop(): Promise<this> {
    this.#stopped.abort();
    await this.#running;
    return this;
  }

  async #go(socket: TLSSocket): Promise<void> {
    try {
      socket.write('echo pings 0\n');
      while (!this.#stopped.signal.aborted) {
        this.milliseconds.push(await roundTrip(socket));
        await sleep(PAUSE_MS);
      }
    } catch (error) {
      this.failures.push(String(error));
    } finally {
      socket.destroy();
    }
  }
}
