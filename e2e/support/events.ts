import { connectNats } from '@fairlead/messaging';
import { silentLogger } from '@fairlead/observability';
import type { Stack } from '@fairlead/stack';
import { DeliverPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { join } from 'node:path';

export interface RecordedEvent {
  readonly type: string;
  readonly data: { readonly reason: string; readonly subject: string } & Record<string, unknown>;
}

/** Every event on the stream so far, oldest first, as an operator reads them. */
export async function readEvents(stack: Stack): Promise<RecordedEvent[]> {
  const signal = AbortSignal.timeout(15_000);
  const nc = await connectNats({
    ...stack.nats,
    seedFile: join(stack.stateDir, 'secrets', 'nats-operator.seed'),
    role: 'operator',
    credential: 'operator',
    logger: silentLogger,
    signal,
  });
  try {
    const { num_pending: pending, name } = await (
      await jetstreamManager(nc)
    ).consumers.add('FAIRLEAD_EVENTS', { deliver_policy: DeliverPolicy.All, inactive_threshold: 10_000_000_000 });
    if (pending === 0) return [];
    const consumer = await jetstream(nc).consumers.get('FAIRLEAD_EVENTS', name);
    const events: RecordedEvent[] = [];
    for await (const message of await consumer.fetch({ max_messages: pending, expires: 5_000 })) {
      events.push(message.json<RecordedEvent>());
      if (events.length === pending) break;
    }
    return events;
  } finally {
    await nc.close();
  }
}
