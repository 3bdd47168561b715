import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  type Resource,
} from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type Sampler,
} from '@opentelemetry/sdk-trace';
import type { Logger } from '../logger.js';
import { BoundedExporter, BoundedProcessor, Delivery } from './bounded-export.js';
import { sdkTracer } from './sdk-tracer.js';
import type { Tracing, TracingOptions, TracingSettings } from './tracing-options.js';

const DEFAULT_MAX_SPANS = 2_048;
const DEFAULT_DELAY_MS = 5_000;
const BATCH_SPANS = 512;
/** The exporter's own limits (`OTEL_EXPORTER_OTLP_TIMEOUT`, 10 s) are of silence; this one is of time. */
const EXPORT_TIMEOUT_MS = 30_000;
const FLUSH_TIMEOUT_MS = 3_000;
/** What a stopping process breaks off ends a moment later. */
const LAST_SPANS_MS = 500;
/** No attribute of ours is long, except by what somebody untrusted put into it. */
const SPAN_LIMITS = { attributeValueLengthLimit: 256, attributeCountLimit: 32, eventCountLimit: 32 };

type OtlpTracingOptions = TracingOptions & { readonly settings: TracingSettings };

/**
 * Spans to a collector: OTLP over HTTP. What is not set here, the exporter takes from the standard variables itself: headers,
 * timeout, compression, certificates.
 */
export function startOtlpTracing(options: OtlpTracingOptions): Tracing {
  const { settings, logger, registry } = options;
  const { maxSpans = DEFAULT_MAX_SPANS, delayMs = DEFAULT_DELAY_MS } = settings;
  const delivery = new Delivery(maxSpans, logger, registry);
  const exporter = new OTLPTraceExporter({
    url: settings.url,
    // All of a full queue at once, when it is flushed, beside the batch that is under way.
    concurrencyLimit: Math.ceil(maxSpans / BATCH_SPANS) + 1,
  });
  const batches = new BatchSpanProcessor({
    exporter: new BoundedExporter(exporter, delivery, EXPORT_TIMEOUT_MS),
    maxQueueSize: maxSpans,
    maxExportBatchSize: Math.min(BATCH_SPANS, maxSpans),
    scheduledDelayMillis: delayMs,
    exportTimeoutMillis: EXPORT_TIMEOUT_MS + 1_000,
  });
  const provider = new TracerProvider({
    resource: resourceOf(options),
    sampler: samplerOf(settings),
    spanLimits: SPAN_LIMITS,
    spanProcessors: [new BoundedProcessor(batches, delivery)],
  });
  logger.info('tracing.started', { endpoint: withoutPassword(settings.url) });
  return {
    tracer: sdkTracer(provider.getTracer('fairlead')),
    [Symbol.asyncDispose]: () => flush(provider, delivery, logger),
  };
}

/** What is said in the environment goes before what we think. */
function resourceOf({ settings, resource }: OtlpTracingOptions): Resource {
  const said = detectResources({ detectors: [resourceAttributesEnvDetector] });
  const named = settings.serviceName === undefined ? {} : { 'service.name': settings.serviceName };
  const own = defaultResource().merge(resourceFromAttributes(resource));
  return own.merge(said).merge(resourceFromAttributes(named));
}

function samplerOf({ sampler = 'parentbased_always_on', ratio = 1 }: TracingSettings): Sampler {
  const root = (name: string): Sampler => {
    if (name === 'always_off') return new AlwaysOffSampler();
    return name === 'traceidratio' ? new TraceIdRatioBasedSampler(ratio) : new AlwaysOnSampler();
  };
  const [, parentBased] = /^parentbased_(.*)$/.exec(sampler) ?? [];
  return parentBased === undefined ? root(sampler) : new ParentBasedSampler({ root: root(parentBased) });
}

async function flush(provider: TracerProvider, delivery: Delivery, logger: Logger): Promise<void> {
  await within(LAST_SPANS_MS, delivery.noneRunning());
  // Why a batch failed was told by the delivery.
  const flushed = provider.shutdown().catch(() => undefined);
  await within(FLUSH_TIMEOUT_MS - LAST_SPANS_MS, flushed);
  if (delivery.undelivered > 0) logger.warn('tracing.flush.incomplete', { spans: delivery.undelivered });
}

async function within(timeoutMs: number, work: Promise<void>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, timeoutMs);
  await Promise.race([work, late]);
  clearTimeout(timer);
}

/** As it may be logged: without user, password and query. */
function withoutPassword(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}
