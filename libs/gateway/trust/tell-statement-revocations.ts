import { create } from '@bufbuild/protobuf';
import { BUCKETS, StatementRevocationsEntry } from '@fairlead/contracts';
import { watchBucket, type KvSnapshot } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import { SignedRevocationsSchema, type SignedRevocations } from '@fairlead/proto';
import type { SessionRegistry } from '@fairlead/tunnel/gateway';
import type { NatsConnection } from '@nats-io/transport-node';
import { tellInTurn } from '../sessions/tell-sessions.js';

type Lists = Pick<RevocationLists, 'of' | 'onChange'>;

/** Tells each agent which access statements of its tenant are revoked: once it is linked, if it goes by an earlier list, and whenever there is a later one. */
export function tellStatementRevocations(lists: Lists, sessions: SessionRegistry): void {
  const tellLater = tellInTurn(sessions, (session) => {
    const list = lists.of(session.facts.tenantId);
    if (!list || Number(list.number) <= session.revocationsNumber) return;
    session.revocationsNumber = Number(list.number);
    session.tell({ case: 'revocations', value: list });
  });
  lists.onChange((tenantId) => {
    for (const session of sessions.all()) if (session.facts.tenantId === tenantId) tellLater(session);
  });
  sessions.onChange((change, session) => {
    if (change === 'opened' && lists.of(session.facts.tenantId)) tellLater(session);
  });
}

const SignedList = StatementRevocationsEntry.transform(({ number, envelope }) =>
  create(SignedRevocationsSchema, { number: BigInt(number), envelope: Buffer.from(envelope, 'base64') }),
);

/** The list of each tenant, unread: this replica decides by what it knows itself, and an agent believes no gateway. */
export class RevocationLists {
  readonly snapshot: KvSnapshot<SignedRevocations>;
  readonly #listeners = new Set<(tenantId: string) => void>();

  constructor(nc: NatsConnection, logger: Logger) {
    this.snapshot = watchBucket<SignedRevocations>(nc, BUCKETS.statementRevocations, SignedList, {
      forgetTexts: true,
      logger,
      onChange: (tenantId, list) => {
        if (list) for (const listener of this.#listeners) listener(tenantId);
      },
    });
  }

  /** Calls back with the tenant of each that was added or changed. */
  onChange(listener: (tenantId: string) => void): void {
    this.#listeners.add(listener);
  }

  of(tenantId: string): SignedRevocations | null {
    return this.snapshot.get(tenantId) ?? null;
  }
}
