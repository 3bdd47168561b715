import { expect, it } from 'vitest';
import { z } from 'zod';
import { loadConfig, printable, tracingSettings, tracingVariables } from './index.js';

const read = (env: Record<string, string>) => tracingSettings(loadConfig(z.object(tracingVariables), env));

it('is off as long as nobody says where spans go', () => {
  expect(read({})).toBeNull();
  expect(read({ OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'always_on' })).toBeNull();
});

it.each([
  ['OTEL_SDK_DISABLED', 'true'],
  ['OTEL_TRACES_EXPORTER', 'none'],
])('%s=%s turns it off', (name, value) => {
  expect(read({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', [name]: value })).toBeNull();
});

it.each([
  ['http://collector:4318', 'http://collector:4318/v1/traces'],
  ['https://collector/otlp/', 'https://collector/otlp/v1/traces'],
])('the endpoint %s for everything means %s', (endpoint, url) => {
  expect(read({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })?.url).toBe(url);
});

it('the endpoint for traces goes before it, as it is', () => {
  const endpoints = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://b/in' };
  expect(read(endpoints)?.url).toBe('http://b/in');
});

it('takes names, samplers and bounds as the specification calls them', () => {
  expect(
    read({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector',
      OTEL_SERVICE_NAME: 'edge',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
      OTEL_BSP_SCHEDULE_DELAY: '100',
      OTEL_BSP_MAX_QUEUE_SIZE: '64',
    }),
  ).toMatchObject({
    serviceName: 'edge',
    sampler: 'parentbased_traceidratio',
    ratio: 0.25,
    delayMs: 100,
    maxSpans: 64,
  });
});

it('names what it cannot do', () => {
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_TRACES_SAMPLER: 'jaeger_remote',
    OTEL_TRACES_SAMPLER_ARG: '2',
  };
  for (const name of Object.keys(env)) expect(() => read(env)).toThrow(name);
});

it('does not print the password of a collector', () => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://user:hunter2@collector' };
  expect(JSON.stringify(printable(loadConfig(z.object(tracingVariables), env)))).not.toContain('hunter2');
});
