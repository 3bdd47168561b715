import { fullJitterMs, type Clock } from '@fairlead/clock';
import { HANDOVER } from '@fairlead/desired-state';
import { messageOf } from '@fairlead/errors';
import type { Objects } from '@fairlead/kube/rest';
import type { Logger } from '@fairlead/observability';

/** What a watch that ended is begun anew after, at least. */
const WATCH_RETRY = { baseMs: 1_000, capMs: 30_000 };

/** Ends a wait early. A ring while nobody waits ends the next one. */
export class Bell {
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

/** Rings when the agent writes one of its ConfigMaps. It is only a hint: what counts is read at each look. */
export async function watchHandover(
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
