import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { COLLECTING_OF_SERVER, collectWhenIdle } from './collect-when-idle.js';

const MIB = 1024 * 1024;
/** Of a server, which looks again once: each look takes some of what there is. */
const REPEATING = {
  ...COLLECTING_OF_SERVER,
  flooded: { share: 0.5, looks: 1, repeats: 1, sooner: { everyLooks: 0, grownBytes: Infinity } },
};
const flooded = (): boolean => true;
const LOOK_MS = COLLECTING_OF_SERVER.lookMs;
let stop: AbortController;
let heapMib: number[];
let residentMib: number[];
/** What the heap holds on to outside of it. */
let externalMib: number[];
let cpuMs: number;

beforeEach(() => {
  vi.useFakeTimers();
  stop = new AbortController();
  cpuMs = 0;
  residentMib = [];
  externalMib = [];
  const memoryUsage = (): object => ({
    heapUsed: (heapMib.shift() ?? 0) * MIB,
    external: (externalMib.shift() ?? 0) * MIB,
    rss: (residentMib.shift() ?? 0) * MIB,
  });
  vi.spyOn(process, 'memoryUsage').mockImplementation(memoryUsage as never);
  vi.spyOn(process, 'cpuUsage').mockImplementation(() => ({ user: cpuMs * 1_000, system: 0 }));
  // A collection costs nothing here; how much it really does depends on what else this process holds.
  vi.spyOn(process, 'threadCpuUsage').mockReturnValue({ user: 0, system: 0 });
});
afterEach(() => {
  stop.abort();
  vi.useRealTimers();
  vi.restoreAllMocks();
});

it('collects once it is idle and has something to give back, and not again until there is more', () => {
  // Looked at: before and, where that was worth it, after a collection.
  heapMib = [30, 16, 19, 21, 16];
  collectWhenIdle(stop.signal);
  vi.advanceTimersByTime(45_000);
  expect(heapMib).toEqual([]);
  stop.abort();
  expect(vi.getTimerCount()).toBe(0);
});

it('leaves a process alone that works', () => {
  heapMib = [100];
  cpuMs = 600;
  collectWhenIdle(stop.signal);
  vi.advanceTimersByTime(60_000);
  expect(heapMib).toEqual([100]);
});

/** Of one CPU, from now on. */
function useShare(share: number): void {
  vi.spyOn(process, 'cpuUsage').mockImplementation((before) => ({
    user: before ? share * LOOK_MS * 1_000 : 0,
    system: 0,
  }));
}

it('leaves a server alone that works for two minutes after each time', () => {
  heapMib = [90, 40, 90, 40];
  useShare(0.4);
  collectWhenIdle(stop.signal, COLLECTING_OF_SERVER);
  vi.advanceTimersByTime(LOOK_MS);
  expect(heapMib).toEqual([90, 40]);
  vi.advanceTimersByTime(29 * LOOK_MS);
  expect(heapMib).toEqual([90, 40]);
  vi.advanceTimersByTime(LOOK_MS);
  expect(heapMib).toEqual([]);
});

it('leaves a server alone that is busy, and one that is calm for no more than a moment', () => {
  heapMib = [90, 40, 90, 40];
  useShare(0.2);
  collectWhenIdle(stop.signal, COLLECTING_OF_SERVER);
  vi.advanceTimersByTime(LOOK_MS);
  for (const share of [0.6, 0.05, 0.2]) {
    useShare(share);
    vi.advanceTimersByTime(7 * LOOK_MS);
  }
  expect(heapMib).toEqual([90, 40]);
  useShare(0.05);
  vi.advanceTimersByTime(7 * LOOK_MS);
  expect(heapMib).toEqual([90, 40]);
  vi.advanceTimersByTime(LOOK_MS);
  expect(heapMib).toEqual([]);
});

it('collects in a server that works once it is flooded, and by the ordinary rules once that is over', () => {
  let isFlooded = false;
  heapMib = [90, 40, 90, 90, 90, 80, 80, 80];
  useShare(0.4);
  collectWhenIdle(stop.signal, COLLECTING_OF_SERVER, () => isFlooded);
  vi.advanceTimersByTime(2 * LOOK_MS);
  expect(heapMib).toEqual([90, 90, 90, 80, 80, 80]);
  isFlooded = true;
  // Looked at twice, and left: it has not grown.
  vi.advanceTimersByTime(3 * LOOK_MS);
  expect(heapMib).toEqual([80, 80]);
  isFlooded = false;
  useShare(0.05);
  vi.advanceTimersByTime(7 * LOOK_MS);
  expect(heapMib).toEqual([80, 80]);
  // Looked at, and left: that it would be one time more of those in a flood is no reason.
  vi.advanceTimersByTime(LOOK_MS);
  expect(heapMib).toEqual([80]);
});

it('collects in a flooded server that has a little to do, once that is half of what it keeps', () => {
  useShare(0.2);
  // The second collection frees too little for a third one. Of the looks the third one finds too little: half of 40 is 20.
  heapMib = [90, 40, 42, 40, 59, 61, 41];
  collectWhenIdle(stop.signal, REPEATING, flooded);
  vi.advanceTimersByTime(4 * LOOK_MS);
  expect(heapMib).toEqual([]);
});

it('collects in a server whose heap is small and holds on to a fifth of what the process has', () => {
  // It gives memory back after its first collection: 140 is much for one that had 105 meanwhile, and 120 is not.
  heapMib = [35, 30, 30, 35, 30, 35];
  residentMib = [160, 158, 105, 140, 139, 120];
  collectWhenIdle(stop.signal, { ...COLLECTING_OF_SERVER, calm: [{ share: 0.1, looks: 1 }] });
  vi.advanceTimersByTime(2 * LOOK_MS);
  expect(heapMib).toEqual([35, 30, 35]);
  vi.advanceTimersByTime(LOOK_MS);
  expect(heapMib).toEqual([35]);
  vi.advanceTimersByTime(LOOK_MS);
  expect(heapMib).toEqual([]);
});

it('collects in a flooded server until that frees little, whatever a flood still used the first time', () => {
  heapMib = [90, 50, 55, 27, 28, 27];
  collectWhenIdle(stop.signal, REPEATING, flooded);
  vi.advanceTimersByTime(2 * LOOK_MS);
  expect(heapMib).toEqual([28, 27]);
  vi.advanceTimersByTime(LOOK_MS);
  expect(heapMib).toEqual([]);
  heapMib = [30, 0];
  vi.advanceTimersByTime(LOOK_MS);
  expect(heapMib).toEqual([0]);
});

it('collects in a flooded server until that frees little of what its heap holds on to, too', () => {
  // The second collection frees 5 MiB of the heap, and 20 that hung on it.
  heapMib = [90, 50, 55, 50, 56, 44, 44, 44];
  externalMib = [30, 10, 30, 10, 49, 4, 4, 4];
  collectWhenIdle(stop.signal, REPEATING, flooded);
  vi.advanceTimersByTime(3 * LOOK_MS);
  expect(heapMib).toEqual([44, 44]);
  vi.advanceTimersByTime(LOOK_MS);
  expect(heapMib).toEqual([]);
});

it('collects in a flooded server six times more where the first time freed nothing, each 16 s: what a flood uses is garbage later', () => {
  // The first look of each four asks for no memory, the two after it see that it has not grown, and the fourth collects.
  heapMib = [60, 60, ...Array.from({ length: 6 * 4 }, () => 60), 60, 60, 60, 0];
  collectWhenIdle(stop.signal, COLLECTING_OF_SERVER, flooded);
  vi.advanceTimersByTime((1 + 6 * 4) * LOOK_MS);
  expect(heapMib).toEqual([60, 60, 60, 0]);
  vi.advanceTimersByTime(4 * LOOK_MS);
  expect(heapMib).toEqual([0]);
});

it('collects in a flooded server each 8 s at the earliest, if it has grown by 56 MiB since', () => {
  // Before and after each collection, and at looks that leave it.
  residentMib = [160, 100, 155, 156, 100, 156, 100];
  heapMib = residentMib.map(() => 60);
  const seen = (): number => 7 - residentMib.length;
  collectWhenIdle(stop.signal, COLLECTING_OF_SERVER, flooded);
  const seenAfterLook = Array.from({ length: 6 }, () => {
    vi.advanceTimersByTime(LOOK_MS);
    return seen();
  });
  expect(seenAfterLook).toEqual([2, 2, 3, 5, 5, 7]);
});

it('collects the more seldom the longer it takes', () => {
  // 60 ms, as much as may be in 6 s.
  vi.spyOn(process, 'threadCpuUsage').mockImplementation((before) => ({ user: before ? 60_000 : 0, system: 0 }));
  heapMib = [90, 40, 90, 90, 40];
  collectWhenIdle(stop.signal, REPEATING, flooded);
  vi.advanceTimersByTime(LOOK_MS);
  expect(heapMib).toEqual([90, 90, 40]);
  vi.advanceTimersByTime(LOOK_MS);
  expect(heapMib).toEqual([90, 40]);
  vi.advanceTimersByTime(LOOK_MS);
  expect(heapMib).toEqual([]);
});

it('really is a collection', () => {
  vi.restoreAllMocks();
  vi.useFakeTimers();
  vi.spyOn(process, 'cpuUsage').mockReturnValue({ user: 0, system: 0 });
  let garbage: object[] | null = Array.from({ length: 500_000 }, (_, index) => ({ index }));
  const held = process.memoryUsage().heapUsed;
  garbage = garbage.length > 0 ? null : garbage;
  collectWhenIdle(stop.signal);
  vi.advanceTimersByTime(15_000);
  expect(garbage).toBeNull();
  expect(process.memoryUsage().heapUsed).toBeLessThan(held - 5 * MIB);
});

it('gives back the pages that garbage had, which V8 keeps otherwise', () => {
  vi.restoreAllMocks();
  vi.useFakeTimers();
  vi.spyOn(process, 'cpuUsage').mockReturnValue({ user: 0, system: 0 });
  const garbage: object[] = Array.from({ length: 1_000_000 }, (_, index) => ({ index, list: [index] }));
  const resident = process.memoryUsage.rss();
  garbage.length = 0;
  collectWhenIdle(stop.signal);
  vi.advanceTimersByTime(15_000);
  expect(process.memoryUsage.rss()).toBeLessThan(resident - 60 * MIB);
});

it('lets a tick wait meanwhile, without which V8 makes all later ones slowly', () => {
  const nextTick = vi.spyOn(process, 'nextTick');
  heapMib = [30, 16];
  collectWhenIdle(stop.signal);
  vi.advanceTimersByTime(15_000);
  expect(heapMib).toEqual([]);
  expect(nextTick).toHaveBeenCalledOnce();
});
