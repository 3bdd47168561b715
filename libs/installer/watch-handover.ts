import { fullJitterMs, type Clock } from '@fairlead/clock';
import { HANDOVER } from '@fairlead/desired-state';
import { messageOf } from '@fairlead/errors';
import type { Objects } from '@fairlead/kube/rest';
import type { Wake } from '@fairlead/loop';
import type { Logger } from '@fairlead/observability';

/** What a watch that ended is begun anew after, at least. */
const WATCH_RETRY = { baseMs: 1_000, capMs: 30_000 };

/** Wakes the installer when the agent writes one of its ConfigMaps. It is only a hint: what counts is read at each look. */
export async function watchHandover(
  { objects, namespace, clock, logger }: { objects: Objects; namespace: string; clock: Clock; logger: Logger },
  wake: Wake,
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
          wake.call();
        }
      } catch (error) {
        logger.debug('installer.watch_failed', { name, reason: messageOf(error) });
      }
      await clock.sleep(WATCH_RETRY.baseMs + fullJitterMs(attempt, WATCH_RETRY), signal).catch(() => undefined);
    }
  };
  await Promise.all([watchOne(HANDOVER.desiredState), watchOne(HANDOVER.bundle)]);
}
