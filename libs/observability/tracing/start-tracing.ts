import { noTracer } from './tracer.js';
import type { Tracing, TracingOptions } from './tracing-options.js';

/** Sets up the export of spans, if there is somewhere to send them. */
export async function startTracing({ settings, ...options }: TracingOptions): Promise<Tracing> {
  if (settings === null) return { tracer: noTracer, [Symbol.asyncDispose]: () => Promise.resolve() };
  // Only now: it takes 6 MB and a tenth of a second, which a process that exports nothing shall not pay.
  const { startOtlpTracing } = await import('./otlp-tracing.js');
  return startOtlpTracing({ settings, ...options });
}
