import type { Clock } from '@fairlead/clock';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Exit, StackEvent } from '../events.js';
import { SupervisedProcess } from './supervised-process.js';
import type { Run, Unit } from './unit.js';

/** A unit whose lives the test ends. */
class ScriptedUnit implements Unit {
  readonly name = 'thing';
  readonly logPath = '/dev/null';
  readonly lives: { end: (exit: Exit) => void; stopped: boolean }[] = [];
  failing = 0;

  tail(): readonly string[] {
    return ['last words'];
  }

  start(): Promise<Run> {
    if (this.failing > 0) {
      this.failing -= 1;
      return Promise.reject(new Error('does not start'));
    }
    let resolve: (exit: Exit) => void = () => undefined;
    const promise = new Promise<Exit>((settled) => (resolve = settled));
    const life = { end: resolve, stopped: false };
    this.lives.push(life);
    const stop = (): Promise<void> => {
      life.stopped = true;
      resolve({ code: 0, signal: null });
      return Promise.resolve();
    };
    return Promise.resolve({ pid: this.lives.length, exited: promise, kill: () => undefined, stop });
  }
}

let nowMs = 0;
let sleeps: { ms: number; wake: () => void }[];
const clock: Clock = {
  nowMs: () => nowMs,
  monotonicMs: () => nowMs,
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      sleeps.push({ ms, wake: resolve });
      signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    }),
};
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const crash: Exit = { code: 1, signal: null };

let unit: ScriptedUnit;
let events: StackEvent[];

async function started(supervise = true): Promise<SupervisedProcess> {
  const log = (event: StackEvent): void => void events.push(event);
  const process = new SupervisedProcess(unit, { log, supervise, clock, random: () => 0.5 });
  await process.start(new AbortController().signal);
  return process;
}

beforeEach(() => {
  unit = new ScriptedUnit();
  events = [];
  sleeps = [];
  nowMs = 0;
});

describe('SupervisedProcess', () => {
  it('starts what died again, later each time, and says so', async () => {
    const process = await started();
    unit.failing = 1;
    unit.lives[0]?.end(crash);
    await settle();
    expect(process.pid).toBeUndefined();
    sleeps[0]?.wake();
    await settle();
    sleeps[1]?.wake();
    await settle();
    expect(sleeps.map(({ ms }) => ms)).toEqual([250, 500]);
    expect(process.pid).toBe(2);
    expect(events.map(({ kind }) => kind)).toEqual(['running', 'died', 'restarting', 'died', 'restarting', 'running']);
  });

  it('begins the backoff anew after a life that lasted', async () => {
    await started();
    unit.lives[0]?.end(crash);
    await settle();
    sleeps[0]?.wake();
    await settle();
    nowMs += 120_000;
    unit.lives[1]?.end(crash);
    await settle();
    expect(sleeps.map(({ ms }) => ms)).toEqual([250, 250]);
  });

  it('leaves the dead alone when not supervised', async () => {
    const process = await started(false);
    unit.lives[0]?.end(crash);
    await settle();
    expect(sleeps).toHaveLength(0);
    await expect(process.exited).resolves.toEqual(crash);
    await process.restart();
    expect(process.pid).toBe(2);
  });

  it('can be stopped while it waits to start again', async () => {
    const process = await started();
    unit.lives[0]?.end(crash);
    await settle();
    await process.stop();
    expect(unit.lives).toHaveLength(1);
  });

  it('takes a stop for what it is, and no death', async () => {
    const process = await started();
    await process.stop();
    await settle();
    expect(unit.lives[0]?.stopped).toBe(true);
    expect(events.map(({ kind }) => kind)).toEqual(['running']);
  });

  it('ends a life that began while it was being stopped', async () => {
    const abort = new AbortController();
    const process = new SupervisedProcess(unit, { log: () => undefined, supervise: true, clock });
    const starting = process.start(abort.signal);
    abort.abort(new Error('never mind'));
    await expect(starting).rejects.toThrow('never mind');
    expect(unit.lives[0]?.stopped).toBe(true);
  });
});
