import type { Caller } from '@fairlead/contracts';
import { inTransaction, readFrom } from '@fairlead/persistence';
import type { Logger } from '@fairlead/observability';
import type { DataSource, EntityManager } from 'typeorm';
import type { Actor, EventInput, EventType } from './catalogue/events.js';
import { createEvent } from './envelope.js';
import { appendEvent } from './outbox.js';

/** What every use case of a service that tells what it changes works with. */
export interface ServiceRuntime {
  readonly database: DataSource;
  /** This process, as the source of events. */
  readonly source: Caller;
  readonly logger: Logger;
  /** Something was committed: what follows from it may go out. */
  readonly onCommitted: () => void;
  readonly now: () => Date;
}

/** A change of state with its events, in one transaction. */
export async function commit<T>(runtime: ServiceRuntime, work: (manager: EntityManager) => Promise<T>): Promise<T> {
  const result = await inTransaction(runtime.database, work);
  runtime.onCommitted();
  return result;
}

/** Reads, outside any transaction. */
export function read<T>(runtime: ServiceRuntime, work: (manager: EntityManager) => Promise<T>): Promise<T> {
  return readFrom(runtime.database, work);
}

/** Adds an event to the transaction. */
export function tell<T extends EventType>(
  runtime: ServiceRuntime,
  manager: EntityManager,
  type: T,
  data: EventInput<T>,
): Promise<void> {
  return appendEvent(manager, createEvent(runtime.source, type, data, runtime.now()));
}

/** Who did it: the person for whom a service asks, if it says so. */
export function actorOf(caller: Caller): Actor {
  if (caller.user !== undefined) return { kind: 'user', id: caller.user };
  return { kind: caller.role === 'gateway' ? 'gateway' : 'service', id: caller.credential };
}

/** A person, as the service that authenticated them names them. */
export function operatorOf(caller: Caller, user: string): Actor {
  return actorOf({ ...caller, user });
}
