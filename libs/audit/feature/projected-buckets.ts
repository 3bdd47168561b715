import { BUCKETS, SubscriberEntry } from '@fairlead/contracts';
import type { ProjectedBucket } from '@fairlead/events';
import { natsSubscribers } from '../store/subscribers.js';

/** Whose keys NATS lets in, for keys. */
export const AUDIT_BUCKETS: readonly ProjectedBucket[] = [
  {
    bucket: BUCKETS.subscribers,
    schema: SubscriberEntry,
    rows: async (manager) => {
      const rows = await natsSubscribers(manager);
      return new Map(
        rows.map(({ id, tenantId, name, natsPublicKey }) => [id, { tenantId, name, publicKey: natsPublicKey ?? '' }]),
      );
    },
  },
];
