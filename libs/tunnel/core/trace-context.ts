/** Where a request stands in a trace (W3C Trace Context, level 1). */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16: a part of the way. */
  readonly spanId: string;
  /** Two: whether the trace is recorded. */
  readonly flags: string;
}

const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/**
 * Who asks, as the values of its `traceparent` headers say; undefined if there is none, or it cannot be read, or it came more
 * than once. Who calls chooses the trace id: it serves to find things, never to tell who it was.
 */
export function readTraceparent(traceparent: readonly string[]): TraceContext | undefined {
  const [, version, traceId, spanId, flags = '00', more] = TRACEPARENT.exec(traceparent[0] ?? '') ?? [];
  // Later versions may say more than version 0.
  const isReadable = traceparent.length === 1 && (version !== '00' || more === undefined);
  if (!isReadable || traceId === undefined || spanId === undefined) return undefined;
  return { traceId, spanId, flags: version === '00' ? flags : '00' };
}

/** The trace id in a `traceparent` of a peer, for a log line; undefined if it is none. */
export function traceIdIn(traceparent: string): string | undefined {
  return TRACEPARENT.exec(traceparent)?.[2];
}

export function formatTraceparent({ traceId, spanId, flags }: TraceContext): string {
  return `00-${traceId}-${spanId}-${flags}`;
}
