import { once } from 'node:events';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Http2Stream, StreamReceiver } from '@fairlead/http2';
import { describe, expect, it } from 'vitest';
import type { UpstreamAnswer } from '@fairlead/kube-http';
import { Http2Request } from './http2-request.js';

const PIECE = Buffer.alloc(100_000);
const PIECES = 5;

/** What the session would see of a request whose answer these pieces are. */
async function answered(): Promise<{ answer: UpstreamAnswer; receiver: StreamReceiver; taken: () => number }> {
  let receiver: StreamReceiver | undefined;
  let taken = 0;
  const stream = {
    closed: false,
    attach: (to: StreamReceiver) => void (receiver = to),
    taken: (bytes: number) => void (taken += bytes),
    cancel: () => undefined,
  };
  const begin = () => Promise.resolve({ stream: stream as unknown as Http2Stream, used: false });
  const request = new Http2Request({ begin, hasBody: false, answerHasNoBody: false });
  const response = once(request, 'response') as Promise<[UpstreamAnswer]>;
  await new Promise((resolve) => setImmediate(resolve));
  if (!receiver) throw new Error('nothing was begun');
  receiver.onResponse?.({ status: 200, fields: [] });
  const [answer] = await response;
  for (let i = 0; i < PIECES; i += 1) receiver.onData(PIECE);
  receiver.onEnd([]);
  receiver.onClose(null);
  return { answer, receiver, taken: () => taken };
}

describe('what came of an answer counts against its whole connection until it is taken', () => {
  it('by a reader that is slower than the answer', async () => {
    const { answer, taken } = await answered();
    expect(taken()).toBeLessThan(PIECES * PIECE.length);
    const slow = new Writable({ write: (_piece, _encoding, done) => void setTimeout(done, 2) });
    await pipeline(answer, slow);
    expect([taken(), answer.complete]).toEqual([PIECES * PIECE.length, true]);
  });

  it('or let go by one that goes away', async () => {
    const { answer, taken } = await answered();
    answer.destroy();
    await delay(1);
    expect(taken()).toBe(PIECES * PIECE.length);
  });
});
