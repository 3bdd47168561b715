import type { Caller } from '@fairlead/contracts';
import { appendEvent, createEvent, type Actor, type EventInput, type EventType } from '@fairlead/events';
import { inTransaction, readFrom } from '@fairlead/persistence';
import type { Logger } from '@fairlead/observability';
import type { DataSource, EntityManager } from 'typeorm';

/** What every use case of the service works with. */
export interface Runtime {
  readonly database: DataSource;
  /** This process, as the source of events. */
  readonly source: Caller;
  readonly logger: Logger;
  /** Something was committed: its events may go out. */
  readonly onCommitted: () => void;
  /** A desired state was committed: the bucket has to follow. */
  readonly onDesired: () => void;
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

export function actorOf(caller: Caller): Actor {
  return { kind: caller.role === 'gateway' ? 'gateway' : 'service', id: caller.credential };
}

/** A person, as the service that authenticated them names them. */
export function operatorOf(caller: Caller, user: string): Actor {
  return { ...actorOf(caller), kind: 'user', id: user };
}
