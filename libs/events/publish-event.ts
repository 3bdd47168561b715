import { FairleadError } from '@fairlead/errors';
import { connectionState, whileConnected } from '@fairlead/messaging';
import { jetstream } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';

const TIMEOUT_MS = 5_000;

/**
 * Publishes one event, and returns when the stream has it on disk. Its id lets the server drop a repetition within two
 * minutes; consumers drop later ones. Throws when it is not known to be stored.
 */
export async function publishEvent(
  nc: NatsConnection,
  event: { readonly id: string; readonly subject: string; readonly body: string },
): Promise<void> {
  if (!connectionState(nc).connected) throw new FairleadError('UNAVAILABLE', 'NATS is away');
  await whileConnected(nc, jetstream(nc).publish(event.subject, event.body, { msgID: event.id, timeout: TIMEOUT_MS }));
}
