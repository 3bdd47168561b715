import type { Clock } from '@fairlead/clock';

/** Ends a wait early. A call while nobody waits ends the next wait. */
export class Wake {
  #called = new AbortController();

  call(): void {
    this.#called.abort();
  }

  /** Resolves after `ms`, when it is called, or when the signal is aborted; never rejects. Only one may wait at a time. */
  async wait(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
    // The clock rejects for no other reason than the two signals.
    await clock.sleep(ms, AbortSignal.any([signal, this.#called.signal])).catch(() => undefined);
    this.#called = new AbortController();
  }
}
