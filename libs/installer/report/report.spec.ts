import { systemClock, type Clock } from '@fairlead/clock';
import { HANDOVER, InstallerReport, MAX_REPORT_BYTES, MAX_REPORT_EVENTS } from '@fairlead/desired-state';
import { expect, it } from 'vitest';
import { CLUSTER_ID } from '../testing/control-plane.js';
import { NOTHING_HELD } from '../state/state-keeper.js';
import type { OwnObjects } from '../state/own-objects.js';
import { makeReport, type Told, ReportWriter } from './make-report.js';
import { History } from './history.js';

const since = new Map<string, string>();
const report = (told: Partial<Told> = {}, events = new History(() => new Date(0)).events): InstallerReport =>
  makeReport(
    { phase: 'healthy', problem: null, ...told },
    {
      clusterId: CLUSTER_ID,
      installerVersion: 'test',
      installerInstance: '11111111-2222-4333-8444-555555555555',
      held: NOTHING_HELD,
      highestRevision: 0,
      events,
      functionalMs: null,
      now: new Date(0),
      since,
    },
  );

it('is written when it changed, at most once a second, and once a minute all the same', async () => {
  let nowMs = 0;
  const writes: number[] = [];
  const clock: Clock = {
    ...systemClock,
    monotonicMs: () => nowMs,
    sleep: (ms) => {
      nowMs += ms;
      return Promise.resolve();
    },
  };
  const own = {
    writeConfigMap: (name: string) => {
      expect(name).toBe(HANDOVER.report);
      writes.push(nowMs);
      return Promise.resolve();
    },
  } as unknown as OwnObjects;
  const writer = new ReportWriter(own, clock);
  const { signal } = new AbortController();
  for (let at = 0; at < 4; at += 1) await writer.write(report(), signal);
  await writer.write(report({ phase: 'repairing' }), signal);
  nowMs += 59_000;
  await writer.write(report({ phase: 'repairing' }), signal);
  nowMs += 1_000;
  await writer.write(report({ phase: 'repairing' }), signal);
  expect(writes).toEqual([0, 1_000, 61_000]);
});

it('loses its oldest events before it is too large', async () => {
  const history = new History(() => new Date(0));
  for (let at = 0; at < 200; at += 1) history.record('observed', 'x'.repeat(300), `${at} ${'y'.repeat(2_000)}`);
  expect(history.events).toHaveLength(MAX_REPORT_EVENTS);
  let written = '';
  const own = {
    writeConfigMap: (_name: string, { data }: { data: Record<string, string> }) => {
      written = data[HANDOVER.keys.report] ?? '';
      return Promise.resolve();
    },
  } as unknown as OwnObjects;
  await new ReportWriter(own, systemClock).write(report({}, history.events), new AbortController().signal);
  expect(Buffer.byteLength(written)).toBeLessThanOrEqual(MAX_REPORT_BYTES);
  expect(InstallerReport.parse(JSON.parse(written)).events.at(-1)?.sequence).toBe(200);
});

it('says since when something is wrong', () => {
  const problem = { code: 'OBJECTS_DIFFER', message: 'one' };
  const first = report({ problem });
  expect(report({ problem: { ...problem, message: 'two' } }).problem).toEqual({ ...first.problem, message: 'two' });
});
