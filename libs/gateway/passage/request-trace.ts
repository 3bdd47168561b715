import { headerPairs, type RawHeaders } from '@fairlead/kube-http';
import { readTraceparent, type TraceContext } from '@fairlead/tunnel/core';

/** What a request at a door is part of, if it says so: the caller's `traceparent`, if it is valid. */
export function callerOf(rawHeaders: RawHeaders): TraceContext | undefined {
  const values = [...headerPairs(rawHeaders)].filter(([name]) => name.toLowerCase() === 'traceparent');
  return readTraceparent(values.map(([, value]) => value));
}
