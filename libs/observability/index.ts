export { createLogger, silentLogger, type LogFields, type Logger } from './logger.js';
export { startHealthServer, type Check, type HealthServer, type HealthServerOptions } from './health-server.js';
export { Counter, Gauge, Histogram, Registry, type GaugeConfiguration } from 'prom-client';
export { gaugeAtScrape, type ScrapedGauge } from './gauge-at-scrape.js';
export { LiveCounter, type LiveCounterOptions } from './live-counter.js';
export {
  noTracer,
  type Span,
  type SpanAttributes,
  type SpanKind,
  type TraceContext,
  type Tracer,
} from './tracing/tracer.js';
export { startTracing } from './tracing/start-tracing.js';
export { SAMPLERS, type Tracing, type TracingOptions, type TracingSettings } from './tracing/tracing-options.js';
