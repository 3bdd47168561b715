import type { Clock } from '@fairlead/clock';
import { refOf, type KubeObject, type ObjectRef, type Objects } from '@fairlead/kube/rest';

const DEADLINE_MS = 30_000;
const PAUSE_MS = 100;

/** Waits until the server serves what these definitions define. After 30 s: the first that it does not; null: all are served. */
export async function untilEstablished(
  objects: Objects,
  stage: readonly KubeObject[],
  clock: Clock,
  signal: AbortSignal,
): Promise<ObjectRef | null> {
  const until = clock.monotonicMs() + DEADLINE_MS;
  for (const definition of stage.filter(({ kind }) => kind === 'CustomResourceDefinition')) {
    while (!isEstablished(await objects.read(refOf(definition)))) {
      if (clock.monotonicMs() > until) return refOf(definition);
      await clock.sleep(PAUSE_MS, signal);
    }
  }
  return null;
}

function isEstablished(definition: KubeObject | null): boolean {
  const status = definition?.['status'] as { conditions?: { type: string; status: string }[] } | undefined;
  return status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') ?? false;
}
