import { BUCKETS, DesiredEntry } from '@fairlead/contracts';
import type { ProjectedBucket } from '@fairlead/events';
import { signedStates } from '../store/cluster-store.js';
import { ABSENCE_MS } from './converge.js';

/** What gateways hand to agents. */
export const GITOPS_BUCKETS: readonly ProjectedBucket[] = [
  {
    bucket: BUCKETS.desired,
    schema: DesiredEntry,
    rows: async (manager) => {
      const states = await signedStates(manager, new Date(Date.now() - ABSENCE_MS));
      return new Map(
        states.map(({ tenantId, id, revision, signed }) => [
          `${tenantId}.${id}`,
          DesiredEntry.parse({ revision, ...signed }),
        ]),
      );
    },
  },
];
