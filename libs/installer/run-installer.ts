import { fullJitterMs, type Clock } from '@fairlead/clock';
import { HANDOVER, type InstallerReport } from '@fairlead/desired-state';
import { messageOf, toFairleadError } from '@fairlead/errors';
import type { Objects } from '@fairlead/kube/rest';
import type { Logger } from '@fairlead/observability';
import { Installer, type InstallerOptions } from './installer.js';

const RETRY = { baseMs: 500, capMs: 30_000 };
/** What a watch that ended is begun anew after, at least. */
const WATCH_RETRY = { baseMs: 1_000, capMs: 30_000 };
/** After a phase that will change soon the next look comes so soon. */
const SOON_MS = 1_000;

export interface RunOptions extends InstallerOptions {
  /** How often the cluster is looked at when nothing happens. */
  readonly intervalMs: number;
  readonly onReport?: (report: InstallerReport) => void;
}

/** Looks and repairs until the signal: at once when the agent hands something over, otherwise at the interval. */
export async function runInstaller(options: RunOptions, signal: AbortSignal): Promise<void> {
  const bell = new Bell(options.clock);
  const watching = watchHandover(options, bell, signal);
  let installer: Installer | null = null;
  let failures = 0;
  while (!signal.aborted) {
    try {
      installer ??= await Installer.open(options);
      const report = await installer.cycle(signal);
      options.onReport?.(report);
      failures = 0;
      await bell.wait(pauseMs(report, options.intervalMs), signal);
    } catch (error) {
      if (signal.aborted) break;
      const { code } = toFairleadError(error);
      options.logger.warn('installer.cycle_failed', { code, attempt: failures, reason: messageOf(error) });
      await options.clock.sleep(fullJitterMs(failures, RETRY), signal).catch(() => undefined);
      failures += 1;
    }
  }
  await watching;
}

function pauseMs({ phase }: InstallerReport, intervalMs: number): number {
  const soon = phase === 'installing' || phase === 'repairing' || phase === 'removing';
  return soon ? Math.min(SOON_MS, intervalMs) : intervalMs;
}

/** Rings when the agent writes one of its ConfigMaps. It is only a hint: what counts is read at each look. */
async function watchHandover(
  { objects, namespace, clock, logger }: { objects: Objects; namespace: string; clock: Clock; logger: Logger },
  bell: Bell,
  signal: AbortSignal,
): Promise<void> {
  const watchOne = async (name: string): Promise<void> => {
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      try {
        const kind = { apiVersion: 'v1', kind: 'ConfigMap' };
        for await (const _change of objects.watch(
          kind,
          { namespace, fieldSelector: `metadata.name=${name}` },
          signal,
        )) {
          attempt = 0;
          bell.ring();
        }
      } catch (error) {
        logger.debug('installer.watch_failed', { name, reason: messageOf(error) });
      }
      await clock.sleep(WATCH_RETRY.baseMs + fullJitterMs(attempt, WATCH_RETRY), signal).catch(() => undefined);
    }
  };
  await Promise.all([watchOne(HANDOVER.desiredState), watchOne(HANDOVER.bundle)]);
}

/** Ends a wait early. A ring while nobody waits ends the next one. */
class Bell {
  readonly #clock: Clock;
  #rung = false;
  #wake = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  ring(): void {
    this.#rung = true;
    this.#wake.abort();
  }

  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#rung) {
      const either = AbortSignal.any([this.#wake.signal, signal]);
      await this.#clock.sleep(ms, either).catch(() => undefined);
    }
    this.#rung = false;
    this.#wake = new AbortController();
  }
}
