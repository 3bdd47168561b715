import type { Registry } from 'prom-client';
import type { Logger } from '../logger.js';
import type { Tracer } from './tracer.js';

/** The samplers of the specification, by the names that `OTEL_TRACES_SAMPLER` has for them. */
export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

export interface TracingSettings {
  /** Where spans go, OTLP over HTTP with Protobuf: the whole URL, which may hold a password. */
  readonly url: string;
  /** Instead of the process's own name. */
  readonly serviceName?: string | undefined;
  /** Default: `parentbased_always_on`. */
  readonly sampler?: (typeof SAMPLERS)[number] | undefined;
  /** Of the ratio samplers, 0 to 1. Default: 1. */
  readonly ratio?: number | undefined;
  /** How long a span may wait for others to go with it. Default: 5 s. */
  readonly delayMs?: number | undefined;
  /** Spans that ended and are not delivered yet; beyond them, new ones are dropped. Default: 2,048. */
  readonly maxSpans?: number | undefined;
}

export interface TracingOptions {
  /** Null: nothing is recorded, and no code for it is loaded. */
  readonly settings: TracingSettings | null;
  /** Who we are, by OpenTelemetry's names. What is not known yet may be a promise: spans wait for it. */
  readonly resource: Readonly<Record<string, string | Promise<string>>>;
  readonly logger: Logger;
  /** Where it counts what became of its spans. */
  readonly registry: Registry;
}

export interface Tracing extends AsyncDisposable {
  readonly tracer: Tracer;
  /** Delivers what has ended, for three seconds at most, and stops. Never rejects. */
  [Symbol.asyncDispose](): Promise<void>;
}
