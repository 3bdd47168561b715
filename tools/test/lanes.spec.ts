import { expect, it } from 'vitest';
import { laneOf, Lanes, limitsFor } from './lanes.js';

const waiting = (wallS: number) => ({ wallS, cpuS: wallS / 10, needs: [] });
const computing = (wallS: number) => ({ wallS, cpuS: wallS, needs: [] });

/** Lets whatever was admitted be told. */
const settle = () => new Promise<void>((done) => setImmediate(done));

function crowd(limits = { waiting: 2, computing: 1 }) {
  const lanes = new Lanes(limits);
  const running = new Map<string, () => void>();
  const enter = (name: string, timing: ReturnType<typeof waiting>, isReady?: () => boolean) => {
    void lanes.enter(timing, isReady).then((leave) => running.set(name, leave));
  };
  const end = async (name: string) => {
    running.get(name)!();
    running.delete(name);
    await settle();
  };
  return { lanes, enter, end, names: () => [...running.keys()].sort() };
}

it('knows a file that computes from one that waits', () => {
  expect(laneOf(waiting(60))).toBe('waiting');
  expect(laneOf(computing(60))).toBe('computing');
  expect(limitsFor(2)).toEqual({ computing: 2, waiting: 6 });
});

it('runs as many of each kind as there is room for, whatever the other kind does', async () => {
  const { enter, end, names } = crowd();
  for (const name of ['w1', 'w2', 'w3']) enter(name, waiting(10));
  for (const name of ['c1', 'c2']) enter(name, computing(10));
  await settle();
  expect(names()).toEqual(['c1', 'w1', 'w2']);
  await end('c1');
  expect(names()).toEqual(['c2', 'w1', 'w2']);
  await end('w1');
  expect(names()).toEqual(['c2', 'w2', 'w3']);
});

it('takes the longest first', async () => {
  const { enter, end, names } = crowd();
  for (const [name, wallS] of [
    ['first', 1],
    ['short', 5],
    ['long', 50],
  ] as const)
    enter(name, computing(wallS));
  await settle();
  expect(names()).toEqual(['first']);
  await end('first');
  expect(names()).toEqual(['long']);
});

it('lets others pass a file whose components are not here yet', async () => {
  const { lanes, enter, names } = crowd();
  let isHere = false;
  enter('needs', computing(50), () => isHere);
  enter('other', computing(5));
  await settle();
  expect(names()).toEqual(['other']);
  isHere = true;
  lanes.lookAgain();
  await settle();
  expect(names()).toEqual(['other']);
});

it('begins a file once its components are here', async () => {
  const { lanes, enter, names } = crowd();
  let isHere = false;
  enter('needs', computing(50), () => isHere);
  await settle();
  expect(names()).toEqual([]);
  isHere = true;
  lanes.lookAgain();
  await settle();
  expect(names()).toEqual(['needs']);
});
