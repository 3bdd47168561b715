import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';

/**
 * Sends the head of an answer that is being piped. A watch answers its head long before its first event, so it may not
 * wait for a body; where the body comes in the same turn, both leave in one write. Call it after `answer.pipe(outgoing)`.
 */
export function flushUnlessBodyFollows(answer: Readable, outgoing: ServerResponse): void {
  let followed = false;
  const onBody = (): void => {
    followed = true;
  };
  answer.once('data', onBody);
  answer.once('end', onBody);
  setImmediate(() => {
    if (!followed && !outgoing.destroyed) outgoing.flushHeaders();
  });
}
