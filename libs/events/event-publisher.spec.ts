import { randomUUID } from 'node:crypto';
import { silentLogger, type Logger } from '@fairlead/observability';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterEach, expect, it, vi } from 'vitest';
import { createEventPublisher } from './index.js';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const registration = { role: 'registration', credential: 'registration' } as const;
const actor = { kind: 'service', id: 'registration' } as const;
const clusterId = randomUUID();
const cluster = {
  tenantId: 'default',
  subject: `cluster/${clusterId}`,
  clusterId,
  name: 'demo',
  links: 2,
  reason: 'OK',
  actor,
};
/** With these an event is larger than the queue: it pushes everything out, itself included. */
const MANY_TARGETS = Array.from({ length: 64 }, (_, index) => `target-${index}.${'x'.repeat(50)}.example:443`);

function publisherWithoutNats() {
  let tries = 0;
  const logger: Logger = {
    ...silentLogger,
    log: (_level, event) => void (tries += event === 'events.delayed' ? 1 : 0),
  };
  const away = { isClosed: () => true, status: async function* () {} } as unknown as NatsConnection;
  const events = createEventPublisher(away, registration, { maxQueuedBytes: 2_048, logger });
  const publish = (targets: string[] = []): void =>
    events.publish('dev.fairlead.cluster.created.v1', { ...cluster, targets });
  return { events, publish, tries: () => tries };
}

// The queue is found empty, then its sender ends, then that is told: an event may be published between any two of these.
it.each([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])(
  'sends what is published %i turns after the sender found the queue empty',
  async (turns) => {
    vi.useFakeTimers();
    // A wait that is drawn as none at all would be over with the first try.
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
    const { events, publish, tries } = publisherWithoutNats();
    publish();
    await vi.advanceTimersByTimeAsync(0);
    expect(tries()).toBe(1);
    publish(MANY_TARGETS);
    expect(events.queued).toBe(0);
    vi.advanceTimersByTime(10_000);
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    publish();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(tries()).toBeGreaterThan(1);
  },
);
