import type { Clock } from '@fairlead/clock';

/** Counts only the time spent connected, so that an outage of NATS ages nothing. */
export class ConnectedTime {
  readonly #clock: Clock;
  #countedMs = 0;
  #since: number | null = null;

  constructor(clock: Clock, connected: boolean) {
    this.#clock = clock;
    this.set(connected);
  }

  set(connected: boolean): void {
    const now = this.#clock.monotonicMs();
    if (this.#since !== null) this.#countedMs += now - this.#since;
    this.#since = connected ? now : null;
  }

  nowMs(): number {
    return this.#countedMs + (this.#since === null ? 0 : this.#clock.monotonicMs() - this.#since);
  }
}
