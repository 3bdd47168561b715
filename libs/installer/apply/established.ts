import type { Clock } from '@fairlead/clock';
import { refOf, shown, type KubeObject, type Objects } from '@fairlead/kube/rest';
import { Trouble } from '../trouble.js';

const DEADLINE_MS = 30_000;
const PAUSE_MS = 100;

/** Waits until the server serves what these definitions define. CRD_NOT_ESTABLISHED after 30 s. */
export async function untilEstablished(
  objects: Objects,
  stage: readonly KubeObject[],
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const until = clock.monotonicMs() + DEADLINE_MS;
  for (const definition of stage.filter(({ kind }) => kind === 'CustomResourceDefinition')) {
    while (!isEstablished(await objects.read(refOf(definition)))) {
      if (clock.monotonicMs() > until) {
        throw new Trouble('CRD_NOT_ESTABLISHED', `${shown(refOf(definition))} is not served after ${DEADLINE_MS} ms`);
      }
      await clock.sleep(PAUSE_MS, signal);
    }
  }
}

function isEstablished(definition: KubeObject | null): boolean {
  const status = definition?.['status'] as { conditions?: { type: string; status: string }[] } | undefined;
  return status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') ?? false;
}
