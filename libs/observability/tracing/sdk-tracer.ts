import {
  ROOT_CONTEXT,
  SpanKind as SdkSpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
  type Context,
  type Span as SdkSpan,
  type Tracer as SdkTracer,
} from '@opentelemetry/api';
import type { Span, SpanAttributes, SpanKind, TraceContext, Tracer } from './tracer.js';

const KINDS: Readonly<Record<SpanKind, SdkSpanKind>> = {
  server: SdkSpanKind.SERVER,
  client: SdkSpanKind.CLIENT,
  internal: SdkSpanKind.INTERNAL,
};

/** Our tracer on OpenTelemetry's. Parents are always said: no context is followed through asynchronous calls. */
export function sdkTracer(tracer: SdkTracer): Tracer {
  return {
    begin: (name, kind, parent, attributes = {}) => {
      const span = tracer.startSpan(name, { kind: KINDS[kind], attributes }, contextOf(parent));
      return new RecordedSpan(span, parent);
    },
  };
}

/** Made in this process, and so not a remote parent. */
class OwnContext implements TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly flags: string;

  constructor(traceId: string, spanId: string, sampled: boolean) {
    this.traceId = traceId;
    this.spanId = spanId;
    this.flags = sampled ? '01' : '00';
  }
}

function contextOf(parent: TraceContext | undefined): Context {
  if (!parent) return ROOT_CONTEXT;
  const { traceId, spanId, flags } = parent;
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: !(parent instanceof OwnContext) });
}

class RecordedSpan implements Span {
  readonly context: TraceContext;
  readonly recording: boolean;
  readonly #span: SdkSpan;
  #ended = false;

  constructor(span: SdkSpan, parent: TraceContext | undefined) {
    const { traceId, spanId } = span.spanContext();
    this.#span = span;
    this.recording = span.isRecording();
    // One that is not sampled is sent nowhere: what comes next must not stand below it.
    this.context = new OwnContext(traceId, this.recording ? spanId : (parent?.spanId ?? spanId), this.recording);
  }

  rename(name: string): void {
    if (!this.#ended) this.#span.updateName(name);
  }

  set(attributes: SpanAttributes): void {
    if (this.#ended) return;
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== undefined) this.#span.setAttribute(name, value);
    }
  }

  event(name: string, attributes: SpanAttributes = {}): void {
    if (!this.#ended) this.#span.addEvent(name, attributes);
  }

  end(failure?: string): void {
    if (this.#ended) return;
    if (failure !== undefined) {
      this.#span.setAttribute('error.type', failure);
      this.#span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
    }
    this.#ended = true;
    this.#span.end();
  }
}
