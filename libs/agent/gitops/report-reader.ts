import { fullJitterMs, type Clock } from '@fairlead/clock';
import { HANDOVER, MAX_REPORT_BYTES } from '@fairlead/desired-state/carried';
import { toFairleadError } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import { z } from 'zod';
import type { HandoverMaps } from './ports.js';

/**
 * The API server answers from its memory: a read in five seconds costs it less than a watch that is held open, and nothing has to
 * notice that a watch went silent.
 */
const OBSERVE_MS = 5_000;
const ABSENT_MS = 60_000;
const RETRY = { baseMs: 1_000, capMs: 60_000 };

/** The one thing in it that concerns the agent. */
const Wants = z.object({ wantedBundle: z.string().regex(/^[0-9a-f]{64}$/) });

export interface ReaderOptions {
  readonly maps: HandoverMaps;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly observeMs?: number;
  /** Is there an installer at all? */
  readonly present: () => boolean;
  readonly onReport: (json: Uint8Array, wantedBundle: string | null) => void;
}

/** Reads what the installer says, and tells when it changed. Until the signal; never rejects. */
export async function readReports(options: ReaderOptions, signal: AbortSignal): Promise<void> {
  const { maps, logger, clock, observeMs = OBSERVE_MS, present, onReport } = options;
  let last = '';
  let complained = false;
  for (let attempt = 0; !signal.aborted;) {
    let pauseMs = observeMs;
    try {
      const text = present()
        ? ((await maps.read(HANDOVER.report, { cached: true }))[HANDOVER.keys.report] ?? '')
        : last;
      attempt = 0;
      if (text !== last) {
        last = text;
        const json = Buffer.from(text);
        if (json.length <= MAX_REPORT_BYTES) onReport(json, wantedIn(text));
        else if (!complained) logger.warn('installer.report.too_large', { bytes: json.length });
        complained ||= json.length > MAX_REPORT_BYTES;
      }
    } catch (error) {
      const { code, message } = toFairleadError(error);
      const absent = code === 'NOT_FOUND' || code === 'FORBIDDEN';
      if (!absent) logger.warn('installer.report.not_read', { attempt, code, reason: message });
      attempt += 1;
      pauseMs = absent ? Math.min(ABSENT_MS, observeMs * attempt) : Math.max(observeMs, fullJitterMs(attempt, RETRY));
    }
    await clock.sleep(pauseMs * (0.75 + Math.random() / 2), signal).catch(() => undefined);
  }
}

function wantedIn(text: string): string | null {
  try {
    return Wants.parse(JSON.parse(text)).wantedBundle;
  } catch {
    // None is wanted, or it is no report: the gateway says so.
    return null;
  }
}
