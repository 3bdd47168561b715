import type { Writable } from 'node:stream';
import type { UpstreamAnswer } from './request-hop.js';

/** Where an answer goes: what Node's responses of HTTP/1.1 and HTTP/2 have of it. */
type OutgoingAnswer = Writable & { flushHeaders?(): void };

/**
 * Passes on the body of an answer whose head was written. Resolves when that is over: true if all of it went. What breaks off at either end is
 * broken off at the other, by `breakOff`, and never ended cleanly, unless `endedItself`, asked when the far end has broken off, has done so.
 */
export function relayAnswer(
  answer: UpstreamAnswer,
  outgoing: OutgoingAnswer,
  breakOff: () => void,
  endedItself: () => boolean = () => false,
): Promise<boolean> {
  return new Promise((resolve) => {
    const brokeOff = (): void => {
      breakOff();
      resolve(false);
    };
    const farEndBrokeOff = (): void => {
      if (!endedItself()) brokeOff();
    };
    answer.once('error', farEndBrokeOff);
    answer.once('aborted', farEndBrokeOff);
    outgoing.once('close', () => (answer.complete ? resolve(true) : brokeOff()));
    outgoing.on('error', brokeOff);
    answer.pipe(outgoing);
    flushUnlessBodyFollows(answer, outgoing);
  });
}

/**
 * A watch answers its head long before its first event, so that may not wait for a body; where the body comes in the same turn, both leave in one
 * write. To be called after `answer.pipe(outgoing)`.
 */
function flushUnlessBodyFollows(answer: UpstreamAnswer, outgoing: OutgoingAnswer): void {
  let followed = false;
  const onBody = (): void => {
    followed = true;
  };
  answer.once('data', onBody);
  answer.once('end', onBody);
  setImmediate(() => {
    if (!followed && !outgoing.destroyed) outgoing.flushHeaders?.();
  });
}
