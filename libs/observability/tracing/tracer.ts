import { randomFillSync } from 'node:crypto';

/** Where something stands in a trace (W3C Trace Context). */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 of them. */
  readonly spanId: string;
  /** Two: `01` if the trace is recorded. */
  readonly flags: string;
}

/** `server` for what somebody else asked of us, `client` for what we ask of somebody else. */
export type SpanKind = 'server' | 'client' | 'internal';

/** Names of OpenTelemetry's semantic conventions where there is one, else below `fairlead.`. Never a token, a query or a header. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** One step of a trace. */
export interface Span {
  /** What to hand on, so that what comes next stands below this span, or, if it is not recorded, where this one would have stood. */
  readonly context: TraceContext;
  /** Whether what is said to it is kept: if not, do not work out what costs. */
  readonly recording: boolean;
  rename(name: string): void;
  set(attributes: SpanAttributes): void;
  event(name: string, attributes?: SpanAttributes): void;
  /** Ends it: in order, or with the code of what went wrong. Only the first call counts. */
  end(failure?: string): void;
}

export interface Tracer {
  /** Begins a span: below `parent`, or at the root of a trace of its own. */
  begin(name: string, kind: SpanKind, parent?: TraceContext, attributes?: SpanAttributes): Span;
}

/** Records nothing. A trace that came from elsewhere goes on as it came; where there is none, one begins, for the logs. */
export const noTracer: Tracer = {
  begin: (_name, _kind, parent) => new NoSpan(parent ?? newTrace()),
};

class NoSpan implements Span {
  readonly recording = false;
  readonly context: TraceContext;

  constructor(context: TraceContext) {
    this.context = context;
  }

  rename(): void {}
  set(): void {}
  event(): void {}
  end(): void {}
}

const ID_BYTES = 24;
/** Asked for one by one, random numbers cost more than the rest of a trace. */
const random = Buffer.alloc(256 * ID_BYTES);
let used = random.length;

function newTrace(): TraceContext {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  const ids = random.toString('hex', used, used + ID_BYTES);
  used += ID_BYTES;
  return { traceId: ids.slice(0, 32), spanId: ids.slice(32), flags: '00' };
}
