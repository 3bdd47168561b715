import { parseRpcSubject, type Caller } from '@fairlead/contracts';
import type { Logger } from '@fairlead/observability';
import { inTransaction } from '@fairlead/persistence';
import type { DataSource } from 'typeorm';
import { createEvent, type OutgoingEvent } from './envelope.js';
import type { OutboxRelay } from './outbox-relay.js';
import { appendEvent } from './outbox.js';

export interface RecordForgedOptions {
  readonly database: DataSource;
  readonly source: Caller;
  readonly logger: Logger;
  readonly relay: OutboxRelay;
}

/** Records a forged request in the background: nobody waits for it, and the log has it in any case. */
export function recordForgedRequest({ database, source, logger, relay }: RecordForgedOptions, subject: string): void {
  const event = forgedRequestEvent(source, subject);
  if (!event) return;
  inTransaction(database, (manager) => appendEvent(manager, event)).then(
    () => relay.poke(),
    (error: unknown) => logger.error('event.not_recorded', { subject, err: error }),
  );
}

/** The event about a request whose answer would have gone elsewhere than to its caller; null if it is no RPC subject. */
export function forgedRequestEvent(source: Caller, subject: string): OutgoingEvent | null {
  const parsed = parseRpcSubject(subject);
  if (!parsed) return null;
  const { tenantId, caller } = parsed;
  const [, , , service = '', method = ''] = subject.split('.');
  return createEvent(source, 'dev.fairlead.rpc.refused.v1', {
    tenantId,
    subject: `rpc/${service}/${method}`,
    actor: { kind: caller.role === 'gateway' ? 'gateway' : 'service', id: caller.credential },
    reason: 'FORBIDDEN',
    service,
    method,
  });
}
