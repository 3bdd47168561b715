/** Where a request stands in a trace (W3C Trace Context, level 1). */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16: our own part of the way. */
  readonly spanId: string;
  /** Two: whether the caller records the trace. */
  readonly flags: string;
}

const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/**
 * Continues the trace of a `traceparent`, or begins one if there is none, or it cannot be read, or it came more than
 * once. `randomHex` gives so many random bytes in hexadecimal. Who calls chooses the trace id: it serves to find things,
 * never to tell who it was.
 */
export function continueTrace(traceparent: readonly string[], randomHex: (bytes: number) => string): TraceContext {
  const spanId = randomHex(8);
  const [, version, traceId, , flags, more] = TRACEPARENT.exec(traceparent[0] ?? '') ?? [];
  // Later versions may say more than version 0.
  const isReadable = traceparent.length === 1 && (version !== '00' || more === undefined);
  if (!isReadable || traceId === undefined) return { traceId: randomHex(16), spanId, flags: '00' };
  return { traceId, spanId, flags: version === '00' ? (flags ?? '00') : '00' };
}

export function formatTraceparent({ traceId, spanId, flags }: TraceContext): string {
  return `00-${traceId}-${spanId}-${flags}`;
}
