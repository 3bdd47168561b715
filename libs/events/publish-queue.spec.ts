import { FairleadError } from '@fairlead/errors';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { OutgoingEvent } from './envelope.js';
import type { EventReceipt } from './publish-event.js';
import { PublishQueue } from './publish-queue.js';

const MAX = { maxQueued: 8, maxQueuedBytes: 100 };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const event = (id: string, bytes = 1): OutgoingEvent => ({
  id,
  tenantId: 'default',
  subject: 's',
  body: 'x'.repeat(bytes),
});

/** Whatever is sent has no answer until `answer` is called. */
function unanswered() {
  const sent: string[] = [];
  const answered = Promise.withResolvers<void>();
  const publish = async ({ id }: OutgoingEvent): Promise<EventReceipt> => {
    sent.push(id);
    await answered.promise;
    return { stream: 'FAIRLEAD_EVENTS', sequence: sent.indexOf(id) + 1, duplicate: false };
  };
  return { sent, publish, answer: answered.resolve };
}

/** How a store failed; it fails at once and is looked at later. */
const failureOf = (stored: Promise<EventReceipt>): Promise<unknown> => stored.catch((error: unknown) => error);

const ignore = { onDropped: () => undefined, onDelayed: () => undefined };

it('stays within its bounds, drops the oldest notifications alone, and refuses only what has no room beside others that are waited for', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ waitedFor: fc.boolean(), bytes: fc.integer({ min: 1, max: 60 }) }), { maxLength: 40 }),
      async (operations) => {
        const { publish, answer } = unanswered();
        const queue = new PublishQueue({ ...MAX, ...ignore, publish });
        /** What is to be in the queue, by a model that looks at all of it each time. */
        let model: { id: string; bytes: number; waitedFor: boolean }[] = [];
        const sum = (of: typeof model): number => of.reduce((bytes, each) => bytes + each.bytes, 0);
        const stored: Promise<EventReceipt>[] = [];
        const refusals: unknown[] = [];
        let dropped = 0;
        for (const [index, operation] of operations.entries()) {
          const added = { id: String(index), ...operation };
          const kept = [...model.filter(({ waitedFor }) => waitedFor), added];
          const fits = kept.length <= MAX.maxQueued && sum(kept) <= MAX.maxQueuedBytes;
          if (!added.waitedFor) queue.tell(event(added.id, added.bytes));
          else if (fits) stored.push(queue.store(event(added.id, added.bytes), 1e6));
          else {
            refusals.push(await failureOf(queue.store(event(added.id, added.bytes), 1e6)));
            continue;
          }
          model.push(added);
          while (model.length > MAX.maxQueued || sum(model) > MAX.maxQueuedBytes) {
            const oldest = model.find(({ waitedFor }) => !waitedFor);
            model = model.filter((each) => each !== oldest);
            dropped += 1;
          }
          expect([queue.size, queue.dropped]).toEqual([model.length, dropped]);
        }
        answer();
        await Promise.all(stored);
        expect(refusals).toEqual(refusals.map(() => expect.objectContaining({ code: 'UNAVAILABLE' })));
        expect(await queue.close()).toBe(0);
      },
    ),
  ));

it('sends what came meanwhile together, once what was on its way has its answers', async () => {
  const { sent, publish, answer } = unanswered();
  const queue = new PublishQueue({ maxQueued: 1_000, maxQueuedBytes: 1e6, ...ignore, publish });
  queue.tell(event('first'));
  await vi.advanceTimersByTimeAsync(0);
  const receipts = Array.from({ length: 250 }, (_, n) => queue.store(event(`e${n}`), 60_000));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(sent).toEqual(['first']);
  answer();
  expect((await Promise.all(receipts)).map(({ sequence }) => sequence)).toEqual(receipts.map((_, n) => n + 2));
  expect(await queue.close()).toBe(0);
});

it('tells what was never sent from what may be stored', async () => {
  const failures = [new FairleadError('UNAVAILABLE', 'refused'), new FairleadError('DEADLINE_EXCEEDED', 'no answer')];
  for (const failure of failures) {
    const queue = new PublishQueue({ ...MAX, ...ignore, publish: () => Promise.reject(failure) });
    const late = failureOf(queue.store(event('late'), 3_000));
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await late).toMatchObject({ code: failure.code, cause: failure });
    expect(queue.size).toBe(0);
    const cut = failureOf(queue.store(event('cut'), 60_000));
    const closed = queue.close();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await closed).toBe(1);
    expect(await cut).toMatchObject({ code: failure.code === 'UNAVAILABLE' ? 'DRAINING' : failure.code });
  }
});

it('once one try had no answer, later ones that were refused do not say that it is not stored', async () => {
  let tries = 0;
  const publish = (): Promise<never> => {
    tries += 1;
    return Promise.reject(new FairleadError(tries === 1 ? 'DEADLINE_EXCEEDED' : 'UNAVAILABLE', 'no'));
  };
  const queue = new PublishQueue({ ...MAX, ...ignore, publish });
  const storing = failureOf(queue.store(event('one'), 30_000));
  await vi.advanceTimersByTimeAsync(30_000);
  expect(await storing).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  expect(tries).toBeGreaterThan(1);
  await queue.close();
});
