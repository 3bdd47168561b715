import { BUCKETS, grantsKeys, GrantsEntry } from '@fairlead/contracts';
import { watchBucket, type KvSnapshot } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import type { NatsConnection } from '@nats-io/transport-node';
import { GrantsIndex } from './grants-index.js';

/** Follows the bucket `grants` into an index of it; what was known stays until a bucket that was lost is filled again. */
export class GrantsDirectory {
  readonly index = new GrantsIndex();
  readonly snapshot: KvSnapshot<GrantsEntry>;

  constructor(nc: NatsConnection, logger: Logger) {
    this.snapshot = watchBucket(nc, BUCKETS.grants, GrantsEntry, {
      logger,
      // Half a bucket may have a grant without the denial that takes it back.
      completeKey: grantsKeys.complete,
      // A subject may have hundreds of grants.
      forgetTexts: true,
      onChange: (key, entry) => this.index.set(key, entry),
      onUnread: (key) => this.index.setUnread(key),
    });
  }
}
