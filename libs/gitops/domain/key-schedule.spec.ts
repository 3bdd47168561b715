import { describe, expect, it } from 'vitest';
import { isToRotate, nextRotationMs, roomForRotations, type KeyCircumstances } from './key-schedule.js';
import { newDeployKeys, type DeployKeyState } from './key-state.js';

const DAY_MS = 86_400_000;
const every = 90 * 86_400;
const [first, last] = ['00000000-0000-4000-8000-000000000000', 'ffffffff-ffff-4fff-bfff-ffffffffffff'];
const keys: DeployKeyState = {
  ...newDeployKeys(),
  repositoryId: first,
  current: { number: 1, publicKey: 'key-1', ready: true, byHand: null, readyAtMs: 0 },
};
const due = 90 * DAY_MS;

describe('the schedule of deploy keys', () => {
  it('has the keys of a fleet that was made at once replaced in the last tenth of their time, each in its own place', () => {
    expect(nextRotationMs(keys, every, first)).toBe(81 * DAY_MS);
    expect(nextRotationMs(keys, every, last)).toBeGreaterThan(89.9 * DAY_MS);
    expect(nextRotationMs(keys, every, last)).toBeLessThanOrEqual(due);
    const spread = Array.from({ length: 1_000 }, () => nextRotationMs(keys, every, crypto.randomUUID())!);
    const days = new Map<number, number>();
    for (const atMs of spread) days.set(Math.floor(atMs / DAY_MS), (days.get(Math.floor(atMs / DAY_MS)) ?? 0) + 1);
    expect(days.size).toBe(9);
    expect(Math.max(...days.values())).toBeLessThan(200);
  });

  it('says nothing of a key that is not ready or of unknown age, that is being replaced, or where there is none', () => {
    const { current } = keys;
    expect(nextRotationMs(keys, null, first)).toBeNull();
    expect(nextRotationMs({ ...keys, current: { ...current, ready: false } }, every, first)).toBeNull();
    const { readyAtMs: _readyAtMs, ...ageless } = current;
    expect(nextRotationMs({ ...keys, current: ageless }, every, first)).toBeNull();
    expect(nextRotationMs({ ...keys, next: { ...current, number: 2 } }, every, first)).toBeNull();
  });
});

describe('a rotation by schedule', () => {
  const fine: KeyCircumstances = {
    clusterId: last,
    keys,
    reported: [{ number: 1, publicKey: 'key-1', works: true }],
    healthy: true,
    suspended: false,
    waits: false,
    rollingOut: false,
    breakerOpen: false,
  };

  it('begins when the time is over', () => {
    expect(isToRotate(fine, every, due)).toBe(true);
    expect(isToRotate(fine, every, due - DAY_MS)).toBe(false);
    expect(isToRotate(fine, null, due)).toBe(false);
  });

  it.each<[string, Partial<KeyCircumstances>]>([
    ['the cluster is not healthy', { healthy: false }],
    ['it is suspended', { suspended: true }],
    ['it waits for somebody', { waits: true }],
    ['a rollout runs', { rollingOut: true }],
    ['the breaker is open', { breakerOpen: true }],
    ['its key does not work', { reported: [{ number: 1, publicKey: 'key-1', works: false }] }],
    ['nobody knows whether its key works', { reported: [] }],
  ])('waits while %s', (_what, change) => {
    expect(isToRotate({ ...fine, ...change }, every, due)).toBe(false);
  });

  it('runs in few clusters of a Git host at once, and not on and on where none ends', () => {
    expect(roomForRotations([], due)).toBe(5);
    expect(roomForRotations([due, due - 1, due - 2], due)).toBe(2);
    const hourAgo = due - 3_600_000;
    expect(
      roomForRotations(
        Array.from({ length: 10 }, () => hourAgo),
        due,
      ),
    ).toBe(5);
    expect(
      roomForRotations(
        Array.from({ length: 23 }, () => hourAgo),
        due,
      ),
    ).toBe(2);
    expect(
      roomForRotations(
        Array.from({ length: 40 }, () => hourAgo),
        due,
      ),
    ).toBe(0);
  });
});
