import { SAMPLERS, type TracingSettings } from '@fairlead/observability';
import { z } from 'zod';
import { Secret } from './load-config.js';

/** It may hold the password of a collector. */
const collector = z.url({ protocol: /^https?$/ }).transform((url) => new Secret(url));
const protocol = z.enum(['http/protobuf']);

/**
 * The standard variables of OpenTelemetry that decide whether and how spans are exported. Headers, timeout, compression and
 * certificates (`OTEL_EXPORTER_OTLP_*`) and `OTEL_RESOURCE_ATTRIBUTES` are read by the exporter itself.
 */
export const tracingVariables = {
  OTEL_SDK_DISABLED: z.stringbool().optional(),
  OTEL_TRACES_EXPORTER: z.enum(['otlp', 'none']).optional(),
  /** No spans are exported unless one of these two is set. */
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: collector.optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol.optional(),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol.optional(),
  OTEL_SERVICE_NAME: z.string().max(255).optional(),
  OTEL_TRACES_SAMPLER: z.enum(SAMPLERS).optional(),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).optional(),
  /** Milliseconds. */
  OTEL_BSP_SCHEDULE_DELAY: z.coerce.number().int().min(10).max(60_000).optional(),
  OTEL_BSP_MAX_QUEUE_SIZE: z.coerce.number().int().min(1).max(65_536).optional(),
};

type TracingConfig = z.output<z.ZodObject<typeof tracingVariables>>;

/** Where spans go and which, or null if none are exported. */
export function tracingSettings(config: TracingConfig): TracingSettings | null {
  const url = endpointOf(config);
  if (url === null || config.OTEL_SDK_DISABLED === true || config.OTEL_TRACES_EXPORTER === 'none') return null;
  return {
    url,
    serviceName: config.OTEL_SERVICE_NAME,
    sampler: config.OTEL_TRACES_SAMPLER,
    ratio: config.OTEL_TRACES_SAMPLER_ARG,
    delayMs: config.OTEL_BSP_SCHEDULE_DELAY,
    maxSpans: config.OTEL_BSP_MAX_QUEUE_SIZE,
  };
}

/** The endpoint for traces is used as it is; the one for everything gets the path of traces. */
function endpointOf(config: TracingConfig): string | null {
  if (config.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) return config.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT.reveal();
  if (!config.OTEL_EXPORTER_OTLP_ENDPOINT) return null;
  const base = new URL(config.OTEL_EXPORTER_OTLP_ENDPOINT.reveal());
  base.pathname = `${base.pathname.replace(/\/$/, '')}/v1/traces`;
  return base.href;
}
