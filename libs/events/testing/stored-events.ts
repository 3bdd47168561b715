import { EVENT_STREAM } from '@fairlead/messaging';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { Envelope } from '../envelope.js';

/** Subjects of the events in the stream that begin with `prefix`, in order. The reader is the operator, or may do anything. */
export async function storedEvents(reader: NatsConnection, prefix: string): Promise<string[]> {
  const manager = await jetstreamManager(reader);
  const { messages, first_seq: first } = (await manager.streams.info(EVENT_STREAM)).state;
  const found: string[] = [];
  for (let seq = first; seq < first + messages; seq += 1) {
    const message = await manager.streams.getMessage(EVENT_STREAM, { seq });
    const envelope = Envelope.parse(message?.json());
    if (envelope.subject.startsWith(prefix)) found.push(envelope.subject);
  }
  return found;
}
