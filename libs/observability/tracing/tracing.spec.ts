import { eventually, startOtlpCollector, type OtlpCollector } from '@fairlead/testing';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { noTracer, startTracing, type Tracing, type TracingSettings } from '../index.js';
import { collectLines } from '../testing/collected-lines.js';

const PARENT = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', flags: '01' };
const UNSAMPLED = { ...PARENT, flags: '00' };

let collector: OtlpCollector;
let registry: Registry;
const { logger, lines } = collectLines();

beforeEach(async () => {
  collector = await startOtlpCollector();
  lines.length = 0;
});
afterEach(async () => {
  vi.useRealTimers();
  await collector[Symbol.asyncDispose]();
});

function start(settings: Partial<TracingSettings> | null = {}, resource = {}): Promise<Tracing> {
  registry = new Registry();
  return startTracing({
    settings: settings && { url: collector.url, delayMs: 10, ...settings },
    resource: { 'service.name': 'fairlead-test', ...resource },
    logger,
    registry,
  });
}

const told = (): string[] => lines.map(({ event }) => event);

async function counted(outcome: string): Promise<number> {
  const values = (await registry.getSingleMetric('fairlead_tracing_spans_total')?.get())?.values ?? [];
  return values.find(({ labels }) => labels['outcome'] === outcome)?.value ?? 0;
}

describe('without a collector', () => {
  it('nothing is recorded, counted or said', async () => {
    await using tracing = await start(null);
    expect(tracing.tracer).toBe(noTracer);
    const span = tracing.tracer.begin('x', 'server', PARENT);
    span.set({ a: 1 });
    span.event('y');
    span.end('INTERNAL');
    expect([span.recording, lines, await registry.metrics()]).toEqual([false, [], '\n']);
  });

  it('a trace goes on as it came, and where there is none one begins, unrecorded', () => {
    expect(noTracer.begin('x', 'server', PARENT).context).toBe(PARENT);
    const { traceId, spanId, flags } = noTracer.begin('x', 'server').context;
    expect(`${traceId}-${spanId}-${flags}`).toMatch(/^[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  });
});

describe('a span', () => {
  it('arrives with its place, kind, attributes, events and end, and says who sent it', async () => {
    await using tracing = await start({ serviceName: 'edge' }, { 'fairlead.cluster.id': Promise.resolve('c1') });
    const outer = tracing.tracer.begin('outer', 'server', PARENT, { 'server.port': 80, 'server.address': undefined });
    const inner = tracing.tracer.begin('inner', 'client', outer.context);
    inner.set({ ratio: 0.5, done: true, missing: undefined });
    inner.rename('within');
    inner.event('opened');
    inner.end('TARGET_REFUSED');
    inner.end();
    outer.end();
    await eventually(() => expect(collector.spans).toHaveLength(2));
    const [first, second] = collector.spans;
    expect(first).toMatchObject({
      traceId: PARENT.traceId,
      parentSpanId: outer.context.spanId,
      name: 'within',
      kind: 'client',
      attributes: { ratio: 0.5, done: true, 'error.type': 'TARGET_REFUSED' },
      events: ['opened'],
      failed: true,
      statusMessage: 'TARGET_REFUSED',
    });
    expect(second).toMatchObject({ parentSpanId: PARENT.spanId, name: 'outer', kind: 'server', failed: false });
    expect(second?.attributes).toEqual({ 'server.port': 80 });
    expect(second?.resource).toMatchObject({ 'service.name': 'edge', 'fairlead.cluster.id': 'c1' });
    // Counted once the collector has answered, which is after it has them.
    await eventually(async () => expect(await counted('exported')).toBe(2));
  });

  it('that ended last is delivered when the process stops', async () => {
    const tracing = await start({ delayMs: 60_000 });
    // However long that takes here: a test below is about the bound.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    for (let index = 0; index < 600; index += 1) tracing.tracer.begin('x', 'internal').end();
    await tracing[Symbol.asyncDispose]();
    expect(collector.spans).toHaveLength(600);
    expect(told()).toEqual(['tracing.started']);
  });
});

describe('which are recorded', () => {
  it.each<[Partial<TracingSettings>, boolean, boolean, boolean]>([
    [{}, true, true, false],
    [{ sampler: 'always_on' }, true, true, true],
    [{ sampler: 'always_off' }, false, false, false],
    [{ sampler: 'parentbased_always_off' }, false, true, false],
    [{ sampler: 'traceidratio', ratio: 0 }, false, false, false],
    [{ sampler: 'parentbased_traceidratio', ratio: 0 }, false, true, false],
    [{ sampler: 'parentbased_traceidratio', ratio: 1 }, true, true, false],
  ])('%j: without a parent %s, below a recorded one %s, below another %s', async (settings, root, below, other) => {
    await using tracing = await start(settings);
    const recorded = [undefined, PARENT, UNSAMPLED].map((parent) => {
      const span = tracing.tracer.begin('x', 'server', parent);
      // What comes next shall record if we do.
      expect(span.context.flags).toBe(span.recording ? '01' : '00');
      return span.recording;
    });
    expect(recorded).toEqual([root, below, other]);
  });

  it('what is not recorded leaves its place in the tree to the one above', async () => {
    await using tracing = await start({ sampler: 'always_off' });
    expect(tracing.tracer.begin('x', 'server', PARENT).context).toEqual(UNSAMPLED);
  });
});

describe('a collector that', () => {
  it('refuses is told of once, without what it said', async () => {
    collector.mood = 'refuses';
    await using tracing = await start();
    for (let index = 1; index <= 3; index += 1) {
      tracing.tracer.begin('x', 'internal').end();
      await eventually(async () => expect(await counted('failed')).toBe(index));
    }
    expect(told()).toEqual(['tracing.started', 'tracing.spans.lost']);
    expect(JSON.stringify(lines)).not.toContain('secret-of-the-collector');
  });

  it('hangs holds up no more than the bound, and the end of the process for three seconds', async () => {
    collector.mood = 'hangs';
    const tracing = await start({ maxSpans: 32 });
    for (let index = 0; index < 1_000; index += 1) tracing.tracer.begin('x', 'internal').end();
    expect(await counted('dropped')).toBe(968);
    // Without a bound it would wait for the collector, which never answers.
    await tracing[Symbol.asyncDispose]();
    expect(lines.at(-1)).toEqual({ event: 'tracing.flush.incomplete', spans: 32 });
  });

  it('has a password is not named with it', async () => {
    await using _tracing = await start({ url: 'http://user:hunter2@127.0.0.1:1/v1/traces?key=hunter2' });
    expect(lines).toEqual([{ event: 'tracing.started', endpoint: 'http://127.0.0.1:1/v1/traces' }]);
  });
});
