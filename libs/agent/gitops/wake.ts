import type { Clock } from '@fairlead/clock';

/** A pause that something new ends. */
export class Wake {
  #woken = new AbortController();

  /** Ends the pause, or the next one if there is none now. */
  up(): void {
    this.#woken.abort();
  }

  /** Never rejects: the signal ends it too. */
  async pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
    await clock.sleep(ms, AbortSignal.any([signal, this.#woken.signal])).catch(() => undefined);
    this.#woken = new AbortController();
  }
}
