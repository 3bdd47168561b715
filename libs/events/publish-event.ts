import { createHmac, randomBytes } from 'node:crypto';
import { FairleadError, messageOf } from '@fairlead/errors';
import { EVENT_STREAM, connectionState, whileConnected } from '@fairlead/messaging';
import { JetStreamApiError, jetstream, type PubAck } from '@nats-io/jetstream';
import { RequestError, type NatsConnection } from '@nats-io/transport-node';
import { z } from 'zod';

const TIMEOUT_MS = 5_000;
/** Of this process, and never told. */
const MESSAGE_ID_KEY = randomBytes(32);

const Receipt = z
  .object({ stream: z.literal(EVENT_STREAM), seq: z.int().min(1), duplicate: z.boolean() })
  .transform(({ stream, seq, duplicate }) => ({ stream, sequence: seq, duplicate }));

/** Where JetStream stored an event; `duplicate`: this process had stored it before, and this was a repetition. */
export type EventReceipt = Readonly<z.output<typeof Receipt>>;

/**
 * Publishes one event, and returns when JetStream has stored it. The server drops a repetition of the same process within two
 * minutes; consumers drop all others, by the event's id. UNAVAILABLE: it is not stored. Any other error: it may be, as after
 * DEADLINE_EXCEEDED (no answer within 5 s, or while the connection stood), PROTOCOL_ERROR (the answer is no receipt for
 * the stream of events), or the signal's reason.
 */
export async function publishEvent(
  nc: NatsConnection,
  event: { readonly id: string; readonly subject: string; readonly body: string },
  signal?: AbortSignal,
): Promise<EventReceipt> {
  if (!connectionState(nc).connected) throw new FairleadError('UNAVAILABLE', 'NATS is away');
  // The server refuses it where another stream has the subject.
  const options = { msgID: messageIdOf(event.id), timeout: TIMEOUT_MS, expect: { streamName: EVENT_STREAM } };
  const answer = jetstream(nc).publish(event.subject, event.body, options).catch(rethrow);
  return receiptOf(await whileConnected(nc, answer, signal));
}

/**
 * JetStream knows message ids by the whole stream, whoever sends them: an id that another process could name or guess, such as the event's, would let it have the event dropped as a
 * repetition, with a message of its own.
 */
function messageIdOf(eventId: string): string {
  return createHmac('sha256', MESSAGE_ID_KEY).update(eventId).digest('base64url');
}

function rethrow(error: unknown): never {
  const refused = error instanceof JetStreamApiError || nobodyListens(error);
  const [code, what] = refused
    ? (['UNAVAILABLE', 'JetStream did not take the event'] as const)
    : (['DEADLINE_EXCEEDED', 'JetStream did not say that it has the event'] as const);
  throw new FairleadError(code, `${what}: ${messageOf(error)}`, { cause: error });
}

function nobodyListens(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof RequestError && cause.isNoResponders();
}

/** Whoever answers in place of the stream, or for another one, has stored nothing that our consumers see. */
function receiptOf(ack: PubAck): EventReceipt {
  const receipt = Receipt.safeParse(ack);
  if (receipt.success) return receipt.data;
  const message = `the answer to an event is no receipt of the stream ${EVENT_STREAM}`;
  throw new FairleadError('PROTOCOL_ERROR', message, { cause: receipt.error });
}
