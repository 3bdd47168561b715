import type { Caller } from '@fairlead/contracts';
import type { FairleadError } from '@fairlead/errors';
import {
  appendEvent,
  createEvent,
  type Actor,
  type EventInput,
  type EventRate,
  type EventType,
} from '@fairlead/events';
import { inTransaction, readFrom } from '@fairlead/persistence';
import type { Logger } from '@fairlead/observability';
import type { DataSource, EntityManager } from 'typeorm';

/** What every use case of the service works with. */
export interface Runtime {
  readonly database: DataSource;
  /** This process, as the source of events. */
  readonly source: Caller;
  readonly logger: Logger;
  /** Something was committed: its events and its projection may go out. */
  readonly onCommitted: () => void;
  readonly now: () => Date;
}

/** A change of state with its events, in one transaction. */
export async function commit<T>(runtime: Runtime, work: (manager: EntityManager) => Promise<T>): Promise<T> {
  const result = await inTransaction(runtime.database, work);
  runtime.onCommitted();
  return result;
}

/** Reads, outside any transaction. */
export function read<T>(runtime: Runtime, work: (manager: EntityManager) => Promise<T>): Promise<T> {
  return readFrom(runtime.database, work);
}

/** Adds an event to the transaction. */
export function tell<T extends EventType>(
  runtime: Runtime,
  manager: EntityManager,
  type: T,
  data: EventInput<T>,
): Promise<void> {
  return appendEvent(manager, createEvent(runtime.source, type, data, runtime.now()));
}

type Refused = 'dev.fairlead.enrolment.refused.v1' | 'dev.fairlead.import-link.refused.v1';

/**
 * Records a refusal in a transaction of its own, since the refused one left nothing, and throws it. What merely failed (5xx)
 * is no refusal and leaves no event; nor does what comes too often, but it is counted. `who`: see EventRate.
 */
export async function refuse<T extends Refused>(
  runtime: Runtime,
  { rate, who }: { readonly rate: EventRate; readonly who: string | null },
  error: FairleadError,
  type: T,
  data: EventInput<T>,
): Promise<never> {
  if (error.kind.http >= 500) throw error;
  const suppressed = rate.take(who);
  if (suppressed === null) throw error;
  try {
    await commit(runtime, (manager) => tell(runtime, manager, type, { ...data, suppressed }));
  } catch (cause) {
    // The refusal stands, whether or not it could be recorded.
    runtime.logger.error('event.not_recorded', { type, subject: data.subject, reason: error.code, err: cause });
  }
  throw error;
}

export function actorOf(caller: Caller): Actor {
  return { kind: caller.role === 'gateway' ? 'gateway' : 'service', id: caller.credential };
}

/** A person, as the service that authenticated them names them. */
export function operatorOf(caller: Caller, user: string): Actor {
  return { ...actorOf(caller), kind: 'user', id: user };
}
