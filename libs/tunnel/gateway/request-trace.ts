import { randomFillSync } from 'node:crypto';
import { continueTrace, headerPairs, type RawHeaders, type TraceContext } from '../core/index.js';

/** Random bytes made ahead: asking for a few at a time costs many times as much. */
const ahead = Buffer.alloc(4_096);
let used = ahead.length;

/** The trace that a request at a door belongs to: the caller's, if its `traceparent` is valid, else a new one. */
export function traceOf(rawHeaders: RawHeaders): TraceContext {
  const values: string[] = [];
  for (const [name, value] of headerPairs(rawHeaders)) if (name.toLowerCase() === 'traceparent') values.push(value);
  return continueTrace(values, randomHex);
}

function randomHex(bytes: number): string {
  if (used + bytes > ahead.length) {
    randomFillSync(ahead);
    used = 0;
  }
  used += bytes;
  return ahead.toString('hex', used - bytes, used);
}
