import { expect, it } from 'vitest';
import { Lanes, isOverloaded, roomOn, shareOf, type Room } from './lanes.js';

const waiting = (wallS: number) => ({ wallS, cpuS: wallS / 8, needs: [] });
const computing = (wallS: number) => ({ wallS, cpuS: wallS, needs: [] });

/** Lets whatever was admitted be told. */
const settle = () => new Promise<void>((done) => setImmediate(done));

function crowd(room: Room = { cores: 1.5, files: 4 }) {
  const lanes = new Lanes(room);
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

it('knows what share of a core a file takes', () => {
  expect(shareOf(waiting(60))).toBe(1 / 8);
  expect(shareOf(computing(60))).toBe(1);
  expect(shareOf({ wallS: 0, cpuS: 0, needs: [] })).toBe(0);
  // It waits for 45 s and computes for 15: on a machine of half the speed for 30 of 75.
  expect(shareOf({ wallS: 60, cpuS: 15, needs: [] }, 2)).toBe(30 / 75);
  expect(shareOf(computing(60), 3)).toBe(1);
  expect(roomOn(2)).toEqual({ cores: 2, files: 8 });
});

it('runs as many as the cores have room for: few that compute, many that wait', async () => {
  const { enter, end, names } = crowd({ cores: 1.5, files: 10 });
  for (const name of ['c1', 'c2']) enter(name, computing(10));
  for (const name of ['w1', 'w2', 'w3', 'w4', 'w5']) enter(name, waiting(10));
  await settle();
  expect(names()).toEqual(['c1', 'w1', 'w2', 'w3', 'w4']);
  await end('w1');
  expect(names()).toEqual(['c1', 'w2', 'w3', 'w4', 'w5']);
  await end('c1');
  expect(names()).toEqual(['c2', 'w2', 'w3', 'w4', 'w5']);
});

it('runs fewer where all of them take longer to compute', async () => {
  let slowness = 2;
  const lanes = new Lanes({ cores: 1, files: 9 }, undefined, () => slowness);
  let running = 0;
  for (let n = 0; n < 6; n += 1) void lanes.enter({ wallS: 60, cpuS: 15, needs: [] }).then(() => void (running += 1));
  await settle();
  expect(running).toBe(2);
  slowness = 1;
  lanes.lookAgain();
  await settle();
  expect(running).toBe(4);
});

it('runs no more than so many, however little they compute', async () => {
  const { enter, end, names } = crowd({ cores: 8, files: 2 });
  for (const name of ['w1', 'w2', 'w3']) enter(name, waiting(10));
  await settle();
  expect(names()).toEqual(['w1', 'w2']);
  await end('w1');
  expect(names()).toEqual(['w2', 'w3']);
});

it('runs a file alone that computes on more than there is', async () => {
  const { enter, end, names } = crowd();
  enter('greedy', { wallS: 50, cpuS: 150, needs: [] });
  enter('other', computing(10));
  await settle();
  expect(names()).toEqual(['greedy']);
  await end('greedy');
  expect(names()).toEqual(['other']);
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

it('begins nothing beside others on a machine that is overloaded, and goes on when it is no more', async () => {
  expect([isOverloaded(2, 10), isOverloaded(2, 10.1)]).toEqual([false, true]);
  let overloaded = true;
  const lanes = new Lanes({ cores: 2, files: 8 }, () => overloaded);
  const running: string[] = [];
  for (const name of ['one', 'other']) void lanes.enter(waiting(10)).then(() => running.push(name));
  await settle();
  expect(running).toEqual(['one']);
  overloaded = false;
  lanes.lookAgain();
  await settle();
  expect(running).toEqual(['one', 'other']);
});
