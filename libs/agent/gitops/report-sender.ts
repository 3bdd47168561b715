import type { Clock } from '@fairlead/clock';
import { Wake } from '@fairlead/loop';
import type { CarryingLink } from './ports.js';

/** Gateways take one in two seconds. */
const GAP_MS = 2_500;
/** Said again unchanged after so long, so that nobody takes a quiet cluster for a lost one. */
const AGAIN_MS = 300_000;

/** Says the newest report on one of the links: when it changed, when that link was lost, and now and then. */
export class ReportSender {
  readonly #clock: Clock;
  readonly #wake = new Wake();
  readonly #links = new Set<CarryingLink>();
  #report: Uint8Array | null = null;
  #said: { readonly report: Uint8Array; readonly on: CarryingLink; readonly againMs: number } | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Those that stand, the oldest first. */
  get links(): readonly CarryingLink[] {
    return [...this.#links];
  }

  linked(link: CarryingLink): void {
    this.#links.add(link);
    this.#wake.call();
  }

  unlinked(link: CarryingLink): void {
    this.#links.delete(link);
    this.#wake.call();
  }

  say(report: Uint8Array): void {
    this.#report = report;
    this.#wake.call();
  }

  /** Until the signal; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.#due()) await this.#clock.sleep(GAP_MS, signal).catch(() => undefined);
      else await this.#wake.wait(this.#clock, this.#untilAgainMs(), signal);
    }
  }

  #due(): boolean {
    const [report, on] = [this.#report, this.links[0]];
    if (!report || !on) return false;
    const said = this.#said;
    if (said?.report === report && said.on === on && this.#untilAgainMs() > 0) return false;
    on.report(report);
    // Drawn once: a pause that is drawn anew after each wait would be drawn until it is short.
    this.#said = { report, on, againMs: this.#clock.monotonicMs() + AGAIN_MS * (0.75 + Math.random() / 2) };
    return true;
  }

  #untilAgainMs(): number {
    // Without a link nothing is due, however long ago it was said.
    return this.#said && this.#links.size > 0 ? Math.max(0, this.#said.againMs - this.#clock.monotonicMs()) : AGAIN_MS;
  }
}
