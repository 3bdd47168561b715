import { randomBytes } from 'node:crypto';
import { continueTrace, headerPairs, type RawHeaders, type TraceContext } from '../core/index.js';

/** The trace that a request at a door belongs to: the caller's, if its `traceparent` is valid, else a new one. */
export function traceOf(rawHeaders: RawHeaders): TraceContext {
  const values = [...headerPairs(rawHeaders)].filter(([name]) => name.toLowerCase() === 'traceparent');
  return continueTrace(
    values.map(([, value]) => value),
    (bytes) => randomBytes(bytes).toString('hex'),
  );
}
