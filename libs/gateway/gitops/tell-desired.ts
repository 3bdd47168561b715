import { SignedDesiredStateSchema, type SignedDesiredState } from '@fairlead/proto';
import type { AgentSession, SessionRegistry } from '@fairlead/tunnel/gateway';
import { tellInTurn } from '../sessions/tell-sessions.js';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { BUCKETS, DesiredEntry } from '@fairlead/contracts';
import { watchBucket, type KvSnapshot } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import type { NatsConnection } from '@nats-io/transport-node';

type Desired = Pick<DesiredStates, 'certain' | 'revisionOf' | 'of' | 'onChange'>;

/**
 * Tells each agent what is desired of its cluster: once it is linked, if it has another revision, and whenever it changes, signed
 * anew with the same revision too. An agent that has a newer one than this replica is told so only while that cannot be because
 * this replica lags behind; its installer takes no older one in any case.
 */
export function tellDesired(desired: Desired, sessions: SessionRegistry): void {
  const tellLater = tellInTurn(sessions, (session) => {
    const state = desired.of(session.facts.tenantId, session.facts.clusterId);
    if (!state) return;
    session.desiredRevision = Number(state.revision);
    session.tell({ case: 'desiredState', value: state });
  });
  desired.onChange((clusterId) => {
    for (const session of sessions.of(clusterId)) tellLater(session);
  });
  sessions.onChange((change, session) => {
    if (change === 'opened' && hasAnother(desired, session)) tellLater(session);
  });
}

function hasAnother(desired: Desired, { facts, desiredRevision }: AgentSession): boolean {
  const revision = desired.revisionOf(facts.tenantId, facts.clusterId);
  if (revision === 0 || revision === desiredRevision) return false;
  return revision > desiredRevision || desired.certain;
}

/** So long after it last equalled the bucket, this replica does not say that what an agent has is newer than desired. */
const CERTAIN_MS = 10_000;

/** One cluster's, as it goes over the wire. */
interface Packed {
  readonly revision: number;
  readonly wire: Uint8Array;
}

const PackedEntry = DesiredEntry.transform(pack);

/**
 * What is desired of each cluster, unread. All of them, whoever is linked here: an agent that comes while NATS is away must not
 * wait for it. Kept as bytes and once, so that it takes no more memory than the bucket may hold (64 MiB). A replica without
 * the bucket, of an older installation, knows of none, and is ready all the same.
 */
export class DesiredStates {
  readonly snapshot: KvSnapshot<Packed>;
  readonly #listeners = new Set<(clusterId: string) => void>();

  constructor(nc: NatsConnection, logger: Logger) {
    this.snapshot = watchBucket<Packed>(nc, BUCKETS.desired, PackedEntry, {
      forgetTexts: true,
      logger,
      onChange: (key, entry) => {
        if (entry) for (const listener of this.#listeners) listener(key.split('.')[1] ?? '');
      },
    });
  }

  /** Calls back with the cluster of each that was added or changed. */
  onChange(listener: (clusterId: string) => void): void {
    this.#listeners.add(listener);
  }

  /** 0: nothing is desired of it, or nothing is known. */
  revisionOf(tenantId: string, clusterId: string): number {
    return this.snapshot.get(keyOf(tenantId, clusterId))?.revision ?? 0;
  }

  of(tenantId: string, clusterId: string): SignedDesiredState | null {
    const packed = this.snapshot.get(keyOf(tenantId, clusterId));
    return packed ? fromBinary(SignedDesiredStateSchema, packed.wire) : null;
  }

  /** Was this the whole bucket a moment ago? */
  get certain(): boolean {
    const { lastSyncedAtMs } = this.snapshot;
    return lastSyncedAtMs !== null && Date.now() - lastSyncedAtMs < CERTAIN_MS;
  }
}

const keyOf = (tenantId: string, clusterId: string): string => `${tenantId}.${clusterId}`;

function pack({ revision, document, signerChain, signature }: DesiredEntry): Packed {
  const message = create(SignedDesiredStateSchema, {
    revision: BigInt(revision),
    document: Buffer.from(document, 'base64'),
    signerChainPem: signerChain,
    signature: Buffer.from(signature, 'base64'),
  });
  return { revision, wire: toBinary(SignedDesiredStateSchema, message) };
}
