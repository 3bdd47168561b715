import { eventually } from '@fairlead/testing';
import type { Stack } from '@fairlead/stack';
import { z } from 'zod';
import { fairlead } from '../../support/fairlead.js';

const Status = z.object({
  trustVersion: z.number(),
  authorities: z.array(z.object({ tree: z.string(), role: z.string(), state: z.string(), pin: z.string() })),
  rotation: z
    .object({
      step: z.string(),
      clusters: z.number(),
      clustersDone: z.number(),
      waitingFor: z.array(z.object({ name: z.string().nullable(), why: z.string() })),
      gateways: z.array(z.object({ credential: z.string() })),
      otherCertificates: z.number(),
    })
    .nullable(),
});
export type CaStatus = z.infer<typeof Status>;

/** `fairlead ca status`. */
export async function caStatus(stack: Stack): Promise<CaStatus> {
  return Status.parse(JSON.parse(await fairlead(stack, 'ca', 'status', '-o', 'json')));
}

/** Waits until nobody but these clusters holds up the step, nor any replica. */
export function untilOnlyWaitsFor(stack: Stack, names: readonly string[], timeoutMs: number): Promise<CaStatus> {
  return eventually(
    async () => {
      const status = await caStatus(stack);
      const { rotation } = status;
      if (!rotation) throw new Error('there is no rotation');
      const waited = rotation.waitingFor.map(({ name }) => name ?? '?').sort();
      const more = rotation.gateways.length + rotation.otherCertificates;
      if (waited.join() === [...names].sort().join() && more === 0) return status;
      throw new Error(`waits for ${waited.join(', ')} and ${more} more; ${JSON.stringify(rotation)}`);
    },
    { timeoutMs, intervalMs: 500 },
  );
}

/** The pin of the identity tree's active root. */
export function activePin({ authorities }: CaStatus): string {
  const isIt = (each: CaStatus['authorities'][number]): boolean =>
    each.tree === 'identity' && each.role === 'root' && each.state === 'active';
  return authorities.find(isIt)?.pin ?? '';
}
