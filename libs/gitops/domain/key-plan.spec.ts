import { describe, expect, it } from 'vitest';
import {
  beginRotation as beginRotationFor,
  droppable,
  instructionsOf,
  isHeld,
  markReady,
  missingKeys,
  noteAges,
  numberDueAt,
  planKeys as planKeysAt,
  publicKeysOf,
  replaceCompromised,
  withdrawCompromised,
} from './key-plan.js';
import { newDeployKeys, type DeployKeyState } from './key-state.js';

const now = new Date('2026-11-01T12:00:00Z');
const minutesLater = (minutes: number): Date => new Date(now.getTime() + minutes * 60_000);
const planKeys = (
  state: DeployKeyState,
  repositoryId: string | null,
  reported: Parameters<typeof planKeysAt>[2],
  at = now,
) => planKeysAt(state, repositoryId, reported, at);
const cause = { why: 'demand', begunAtMs: now.getTime() } as const;
const beginRotation = (state: DeployKeyState) => beginRotationFor(state, cause);
const repository = crypto.randomUUID();
const other = crypto.randomUUID();
const key = (number: number, works: boolean | null = null, publicKey = `key-${number}`) => ({
  number,
  publicKey,
  works,
});

const inUse = (): DeployKeyState => markReady(planKeys(newDeployKeys(), repository, [key(1)]), 1);

describe('the deploy keys of a cluster', () => {
  it('wait for the key that the cluster makes, then for the Git host', () => {
    const waiting = planKeys(newDeployKeys(), repository, []);
    expect(missingKeys(waiting)).toEqual([]);
    const made = planKeys(waiting, repository, [key(1)]);
    expect(missingKeys(made)).toEqual([{ number: 1, publicKey: 'key-1' }]);
    expect(missingKeys(markReady(made, 1))).toEqual([]);
  });

  it('are rotated when the next one is there and was tried, and the old one goes when it is out of use', () => {
    const begun = beginRotation(inUse())!;
    expect(begun.next).toEqual({ number: 2, publicKey: null, ready: false, byHand: null, ...cause });
    expect(beginRotation(begun)).toBeNull();
    const made = planKeys(begun, repository, [key(1, true), key(2)]);
    expect(missingKeys(made)).toEqual([{ number: 2, publicKey: 'key-2' }]);
    const untried = planKeys(markReady(made, 2), repository, [key(1, true), key(2)]);
    expect(untried.current.number).toBe(1);
    expect(planKeys(untried, repository, [key(1, true), key(2, false)]).current.number).toBe(1);
    const switched = planKeys(untried, repository, [key(1, true), key(2, true)]);
    expect(switched).toMatchObject({ current: { number: 2, ready: true }, next: null });
    expect(droppable(switched, 99, [key(2, true)])).toEqual([]);
    const published = { ...switched, drops: switched.drops.map((drop) => ({ ...drop, afterRevision: 7 })) };
    expect(droppable(published, 6, [key(2, true)])).toEqual([]);
    expect(droppable(published, 7, [key(2, false)])).toEqual([]);
    expect(droppable(published, 7, [key(2, true)])).toEqual([
      { repositoryId: repository, number: 1, publicKey: 'key-1', afterRevision: 7 },
    ]);
  });

  it('get another number in another repository: a host knows a key once', () => {
    const moved = planKeys(inUse(), other, [key(1, true)]);
    expect(moved).toMatchObject({ repositoryId: other, current: { number: 2, publicKey: null, ready: false } });
    expect(moved.drops).toEqual([{ repositoryId: repository, number: 1, publicKey: 'key-1', afterRevision: null }]);
    expect(planKeys(planKeys(newDeployKeys(), repository, []), other, [])).toMatchObject({ current: { number: 1 } });
  });

  it('get another number when the cluster lost them and made new ones, a bounded number of times', () => {
    let state = inUse();
    for (let attempt = 0; attempt < 50; attempt += 1) {
      const { number } = state.current;
      state = markReady(
        planKeys(state, repository, [key(number, null, `made-${attempt}`)], minutesLater(attempt * 10)),
        number,
      );
    }
    expect(state.drops.length).toBe(8);
    expect(state.current.number).toBeLessThan(12);
  });

  it('get four other numbers at once and one in ten minutes, since all clusters share the Git host', () => {
    let state = inUse();
    const another = (at: Date, attempt: number): void => {
      const { number } = state.current;
      const planned = planKeys(state, repository, [key(number, true, `made-${attempt}`)], at);
      // As if each key had been withdrawn by the time.
      state = { ...markReady(planned, planned.current.number), drops: [] };
    };
    for (let attempt = 0; attempt < 1_000; attempt += 1) another(now, attempt);
    // A number is given, then its key is learnt: each takes a report.
    expect(state.highest).toBe(5);
    const { number } = state.current;
    const reported = [key(number, true, 'made-once-more')];
    expect(numberDueAt(state, reported, now)).toEqual(minutesLater(10));
    expect(planKeys(state, repository, reported, minutesLater(9)).highest).toBe(5);
    expect(planKeys(state, repository, reported, minutesLater(10)).highest).toBe(6);
    expect(numberDueAt(planKeys(state, repository, reported, minutesLater(10)), [], minutesLater(10))).toBeNull();
    expect(beginRotation(state)?.highest).toBe(6);
  });

  it('are tried where somebody has to add them, who is told so until they work', () => {
    const state = markReady(planKeys(newDeployKeys(), repository, [key(1)]), 1, 'add it');
    expect(missingKeys(state)).toEqual([]);
    expect(instructionsOf(state, [key(1)])).toBe('add it');
    expect(instructionsOf(state, [key(1, false)])).toBe('add it');
    expect(instructionsOf(state, [key(1, true)])).toBeNull();
    expect(instructionsOf(inUse(), [key(1, false)])).toBeNull();
  });

  it('leave the repository when nothing is followed any more', () => {
    const left = planKeys(beginRotation(inUse())!, null, [key(1, true)]);
    expect(left).toMatchObject({ repositoryId: null, next: null, current: { number: 3, ready: false } });
    const drops = left.drops.map((drop) => ({ ...drop, afterRevision: 3 }));
    expect(droppable({ ...left, drops }, 3, [])).toHaveLength(1);
  });
});

describe('deploy keys that count as compromised', () => {
  const at = now.getTime();

  it('leave the repository at once, before another one is there; what is followed is held meanwhile', () => {
    const replaced = replaceCompromised(inUse(), at)!;
    expect(replaced).toMatchObject({
      highest: 2,
      current: { number: 2, publicKey: null, ready: false, why: 'compromise', held: true },
      next: null,
      drops: [{ repositoryId: repository, number: 1, atOnce: true }],
    });
    expect(isHeld(replaced)).toBe(true);
    const made = planKeys(replaced, repository, [key(1, true), key(2)]);
    expect(missingKeys(made)).toEqual([{ number: 2, publicKey: 'key-2' }]);
    expect(isHeld(made)).toBe(true);
    expect(isHeld(markReady(made, 2))).toBe(false);
  });

  it('are all that the cluster has or had: the next one of a rotation, and what waits to be withdrawn', () => {
    const tried = planKeys(beginRotation(inUse())!, repository, [key(1, true), key(2)]);
    const withDrop = { ...tried, drops: [{ repositoryId: repository, number: 9, afterRevision: 3 }] };
    const replaced = replaceCompromised(withDrop, at)!;
    expect(replaced).toMatchObject({ highest: 3, current: { number: 3 }, next: null });
    expect(replaced.drops.map(({ number, atOnce }) => [number, atOnce])).toEqual([
      [9, true],
      [2, true],
      [1, true],
    ]);
  });

  it('are not replaced again before there is a new one', () => {
    const replaced = replaceCompromised(inUse(), at)!;
    expect(replaceCompromised(replaced, at + 1)).toEqual(replaced);
    const made = planKeys(replaced, repository, [key(2)]);
    expect(replaceCompromised(made, at)).toMatchObject({ current: { number: 3, held: true }, highest: 3 });
  });

  it('leave it where nothing is followed any more, too, whatever the cluster has heard of', () => {
    const left = planKeys(inUse(), null, [key(1, true)]);
    expect(replaceCompromised(left, at)).toEqual({
      ...left,
      drops: [{ repositoryId: repository, number: 1, publicKey: 'key-1', afterRevision: null, atOnce: true }],
    });
  });

  it('are withdrawn from another cluster that has one of them, which is known by the key', () => {
    const rotating = planKeys(beginRotation(inUse())!, repository, [key(1, true), key(2)]);
    for (const shared of ['key-1', 'key-2']) {
      expect(withdrawCompromised(rotating, new Set([shared]), at)).toEqual(replaceCompromised(rotating, at));
    }
    expect(publicKeysOf(rotating)).toEqual(['key-1', 'key-2']);
    const switched = planKeys(markReady(rotating, 2), repository, [key(1, true), key(2, true)]);
    expect(publicKeysOf(switched)).toEqual(['key-2', 'key-1']);
    expect(withdrawCompromised(switched, new Set(['key-3']), at)).toBeNull();
    // What it has by now is another one, and stays.
    expect(withdrawCompromised(switched, new Set(['key-1']), at)).toEqual({
      ...switched,
      drops: [{ repositoryId: repository, number: 1, publicKey: 'key-1', afterRevision: null, atOnce: true }],
    });
  });

  it('are none where nothing is followed, and hold nothing that was not followed yet, or is followed elsewhere', () => {
    expect(replaceCompromised(newDeployKeys(), at)).toBeNull();
    const untried = planKeys(newDeployKeys(), repository, [key(1)]);
    expect(isHeld(replaceCompromised(untried, at)!)).toBe(false);
    expect(isHeld(planKeys(replaceCompromised(inUse(), at)!, other, []))).toBe(false);
  });
});

describe('the age of a deploy key', () => {
  it('counts from when it was ready, and is noted once', () => {
    expect(noteAges(planKeys(newDeployKeys(), repository, [key(1)]), 5).current).not.toHaveProperty('readyAtMs');
    const noted = noteAges(inUse(), 5);
    expect(noted.current.readyAtMs).toBe(5);
    expect(noteAges(noted, 9)).toEqual(noted);
    const next = planKeys(beginRotation(noted)!, repository, [key(1, true), key(2)]);
    const switched = planKeys(noteAges(markReady(next, 2), 7), repository, [key(1, true), key(2, true)]);
    expect(switched.current).toMatchObject({ number: 2, readyAtMs: 7, why: 'demand' });
  });
});
