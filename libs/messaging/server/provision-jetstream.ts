import { BUCKETS, ROLES, rowOf, type Bucket, type Stream } from '@fairlead/contracts';
import {
  AckPolicy,
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  RetentionPolicy,
  StorageType,
  jetstreamManager,
  type JetStreamManager,
  type StreamConfig,
} from '@nats-io/jetstream';
import { nanos, type NatsConnection } from '@nats-io/transport-node';
import { supportsMessageTtl } from '../kv/put-kv.js';

/** The stream that holds every event until its consumers have it. */
export const EVENT_STREAM = 'FAIRLEAD_EVENTS';
/** What the audit spools of replicas hand on, until the audit service has it. */
export const AUDIT_STREAM = 'FAIRLEAD_AUDIT';

export const STREAM_NAMES: Readonly<Record<Stream, string>> = { audit: AUDIT_STREAM, events: EVENT_STREAM };

const API_TIMEOUT_MS = 10_000;
const CONSUMER_ACK_WAIT_MS = 30_000;
const CONSUMER_MAX_UNACKNOWLEDGED = 500;
const DAY_MS = 86_400_000;
const MIB = 1024 * 1024;
const BUCKET_BYTES = 64 * MIB;
const AUDIT_BYTES = 192 * MIB;
/** Those that hold a few entries whatever the number of clusters. With the two streams, all buckets fit in 1.25 GiB, which servers were told to allow. */
const SMALL_BUCKETS: Readonly<Partial<Record<Bucket, number>>> = {
  trust: 16 * MIB,
  gitHosts: 16 * MIB,
  statementRevocations: 8 * MIB,
  subscribers: 8 * MIB,
};

export interface ProvisionOptions {
  /** Bytes the event stream may take on disk; the oldest events go first. Default 512 MiB. */
  readonly maxEventBytes?: number;
}

/** Creates or updates the event stream and the KV buckets; run it with the operator's credential, as often as you like. */
export async function provisionJetStream(nc: NatsConnection, options: ProvisionOptions = {}): Promise<void> {
  const manager = await jetstreamManager(nc, { checkAPI: false, timeout: API_TIMEOUT_MS });
  await provision(manager, eventStream(options.maxEventBytes ?? 512 * MIB));
  await provision(manager, auditStream());
  for (const { stream, durable } of CONSUMERS) await provisionConsumer(manager, stream, durable);
  for (const bucket of smallFirst()) {
    const maxBytes = SMALL_BUCKETS[bucket] ?? BUCKET_BYTES;
    await provision(manager, bucketStream(BUCKETS[bucket], { maxBytes, messageTtl: supportsMessageTtl(nc) }));
  }
}

/** Every consumer that outlives who asks it for messages: one for each stream that a role consumes, named like the role. */
export const CONSUMERS: readonly { readonly stream: string; readonly durable: string }[] = ROLES.flatMap((role) =>
  (rowOf(role).nats.consumes ?? []).map((stream) => ({ stream: STREAM_NAMES[stream], durable: role })),
);

/** Made, or brought to this configuration; where it stands is kept. */
async function provisionConsumer(manager: JetStreamManager, stream: string, durable: string): Promise<void> {
  await manager.consumers.add(stream, {
    durable_name: durable,
    ack_policy: AckPolicy.Explicit,
    deliver_policy: DeliverPolicy.All,
    // A transaction's deadlines are shorter: what is not acknowledged by then was given to a process that is gone.
    ack_wait: nanos(CONSUMER_ACK_WAIT_MS),
    max_deliver: -1,
    max_ack_pending: CONSUMER_MAX_UNACKNOWLEDGED,
  });
}

/** What takes less room than it did makes room for what is new. */
function smallFirst(): Bucket[] {
  const bucketBytes = (bucket: Bucket): number => SMALL_BUCKETS[bucket] ?? BUCKET_BYTES;
  return (Object.keys(BUCKETS) as Bucket[]).sort((a, b) => bucketBytes(a) - bucketBytes(b));
}

type Config = Partial<StreamConfig> & { name: string };

function eventStream(maxBytes: number): Config {
  return {
    name: EVENT_STREAM,
    subjects: ['fairlead.events.>'],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.Old,
    max_bytes: maxBytes,
    max_age: nanos(30 * DAY_MS),
    max_msg_size: MIB / 4,
    duplicate_window: nanos(120_000),
    deny_delete: true,
    deny_purge: true,
  };
}

/** Of what waits nothing is dropped: a spool whose batch is refused keeps it. What the audit service has acknowledged is gone. */
function auditStream(): Config {
  return {
    name: AUDIT_STREAM,
    subjects: ['fairlead.audit.*'],
    storage: StorageType.File,
    retention: RetentionPolicy.Workqueue,
    discard: DiscardPolicy.New,
    max_bytes: AUDIT_BYTES,
    max_msg_size: MIB,
    deny_delete: true,
    deny_purge: true,
  };
}

/** As ADR-8 of NATS lays a bucket out, so that `nats kv` shows it; but for rollups. */
function bucketStream(bucket: string, { maxBytes, messageTtl }: { maxBytes: number; messageTtl: boolean }): Config {
  return {
    name: `KV_${bucket}`,
    subjects: [`$KV.${bucket}.>`],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    max_msgs_per_subject: 1,
    max_bytes: maxBytes,
    max_msg_size: 64 * 1024 + 1024,
    // A rollup may be of the whole stream, whatever subject it is published to: one gateway could wipe the others' routes.
    allow_rollup_hdrs: false,
    allow_direct: true,
    deny_delete: true,
    // No watcher is told of a purge: it would hold for ever what is in the bucket no more.
    deny_purge: true,
    // Lets a deletion be forgotten, or each session that ever was would leave one behind.
    ...(messageTtl ? { allow_msg_ttl: true } : {}),
  };
}

async function provision(manager: JetStreamManager, config: Config): Promise<void> {
  try {
    await manager.streams.update(config.name, config);
  } catch (error) {
    if (!(error instanceof JetStreamApiError) || error.code !== JetStreamApiCodes.StreamNotFound) throw error;
    await manager.streams.add(config);
  }
}
