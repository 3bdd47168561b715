import { Column, Entity, PrimaryGeneratedColumn, type EntityManager } from 'typeorm';
import type { OutgoingEvent } from './envelope.js';

/** For a service's own migration: the table as it was in version 1. */
export const OUTBOX_TABLE_V1: readonly string[] = [
  `create table outbox (
    id bigint generated always as identity primary key,
    event_id uuid not null unique,
    tenant_id text not null,
    subject text not null,
    body text not null,
    created_at timestamptz not null default now(),
    sent_at timestamptz
  )`,
  'create index outbox_unsent on outbox (id) where sent_at is null',
  'create index outbox_sent on outbox (sent_at) where sent_at is not null',
];

/** An event that was decided together with a change of state, and still has to reach JetStream. */
@Entity('outbox')
export class OutboxRow {
  /** Order of publication; a 64-bit number, so a string. */
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: string;

  @Column({ type: 'uuid', name: 'event_id' })
  eventId!: string;

  @Column({ type: 'text', name: 'tenant_id' })
  tenantId!: string;

  @Column({ type: 'text' })
  subject!: string;

  @Column({ type: 'text' })
  body!: string;

  /** Of the database's clock, at the begin of the transaction that decided it. */
  @Column({ type: 'timestamptz', name: 'created_at', insert: false, update: false })
  createdAt!: Date;

  @Column({ type: 'timestamptz', name: 'sent_at', nullable: true })
  sentAt!: Date | null;
}

/** Writes an event in the caller's transaction: it is published if, and only if, that commits. */
export async function appendEvent(manager: EntityManager, event: OutgoingEvent): Promise<void> {
  await manager.insert(OutboxRow, rowOf(event));
}

/** The same, unless an event of this id was written before, as by another instance of the service. False if so. */
export async function appendEventOnce(manager: EntityManager, event: OutgoingEvent): Promise<boolean> {
  const query = manager.createQueryBuilder().insert().into(OutboxRow).values(rowOf(event));
  const { raw } = await query.orIgnore().returning('id').execute();
  return (raw as unknown[]).length > 0;
}

function rowOf({ id: eventId, tenantId, subject, body }: OutgoingEvent) {
  return { eventId, tenantId, subject, body };
}
