import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '@fairlead/clock';
import { HANDOVER, InstallerReport, MAX_REPORT_BYTES } from '@fairlead/desired-state';
import type { OwnObjects } from '../state/own-objects.js';

const MIN_GAP_MS = 1_000;
/** When the tool last answered is told this often, though nothing else changed. */
const MAX_AGE_MS = 60_000;

/** Writes the report to its ConfigMap where it changed, at most once a second: who writes sooner waits for the rest of it. */
export class ReportWriter {
  readonly #own: OwnObjects;
  readonly #clock: Clock;
  #last: InstallerReport | null = null;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(own: OwnObjects, clock: Clock) {
    this.#own = own;
    this.#clock = clock;
  }

  async write(report: InstallerReport, signal: AbortSignal): Promise<void> {
    const fitting = fitted(report);
    const ageMs = this.#clock.monotonicMs() - this.#lastMs;
    if (this.#last && ageMs < MAX_AGE_MS && isDeepStrictEqual(timeless(fitting), timeless(this.#last))) return;
    const waitMs = MIN_GAP_MS - ageMs;
    if (waitMs > 0) await this.#clock.sleep(waitMs, signal);
    const data = { [HANDOVER.keys.report]: JSON.stringify(InstallerReport.parse(fitting)) };
    await this.#own.writeConfigMap(HANDOVER.report, { data });
    this.#last = fitting;
    this.#lastMs = this.#clock.monotonicMs();
  }
}

/** When the tool was last looked at is no news. */
function timeless(report: InstallerReport): unknown {
  const { source, sync, functionalAt: _functionalAt, ...rest } = report;
  return { ...rest, source: source && { ...source, at: '' }, sync: sync && { ...sync, at: '' } };
}

/** Without its oldest events, if it would be too large. */
function fitted(report: InstallerReport): InstallerReport {
  let fitting = report;
  while (Buffer.byteLength(JSON.stringify(fitting)) > MAX_REPORT_BYTES && fitting.events.length > 0) {
    fitting = { ...fitting, events: fitting.events.slice(1) };
  }
  return fitting;
}
