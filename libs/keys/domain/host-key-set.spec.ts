import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { afterApproval, afterMove, afterScan, showsOthers, type KnownHostKey } from './host-key-set.js';

const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 0, minute));

/** An ssh-ed25519 key that nobody holds the other half of. */
function key(name: string): { line: string; fingerprint: string } {
  const blob = Buffer.concat([
    Buffer.from([0, 0, 0, 11]),
    Buffer.from('ssh-ed25519'),
    Buffer.from([0, 0, 0, 32]),
    createHash('sha256').update(name).digest(),
  ]);
  const digest = createHash('sha256').update(blob).digest('base64').replace(/=+$/, '');
  return { line: `ssh-ed25519 ${blob.toString('base64')}`, fingerprint: `SHA256:${digest}` };
}

const [first, second, third] = [key('first'), key('second'), key('third')];
const states = (keys: readonly KnownHostKey[]): string[][] =>
  keys.map(({ fingerprint, state }) => [fingerprint, state]);
const approve = (known: readonly KnownHostKey[], fingerprints: string[], given: string[] = []) =>
  afterApproval(known, { fingerprints, given, by: 'ada' }, at(1));

it('proposes what a host shows and trusts none of it', () => {
  const { keys, raised } = afterScan([], [first.line, second.line], at(0));
  expect(states(keys)).toEqual([
    [first.fingerprint, 'proposed'],
    [second.fingerprint, 'proposed'],
  ]);
  expect(raised).toEqual([]);
});

it('raises a key once that nobody approved, where others are', () => {
  const pinned = approve(afterScan([], [first.line], at(0)).keys, [first.fingerprint]).keys;
  const changed = afterScan(pinned, [second.line], at(2));
  expect(states(changed.raised)).toEqual([[second.fingerprint, 'proposed']]);
  expect(showsOthers(changed.keys, at(2))).toBe(true);
  const again = afterScan(changed.keys, [second.line], at(3));
  expect(again.raised).toEqual([]);
  expect(again.keys.find(({ fingerprint }) => fingerprint === second.fingerprint)).toMatchObject({
    firstSeenAt: at(2),
    lastSeenAt: at(3),
  });
  expect(showsOthers(afterScan(again.keys, [first.line, second.line], at(4)).keys, at(4))).toBe(false);
});

it('replaces the whole set, and keeps who decided', () => {
  const shown = afterScan([], [first.line, second.line], at(0)).keys;
  const one = approve(shown, [first.fingerprint]);
  expect(one.withdrawn).toEqual([]);
  const other = approve(one.keys, [second.fingerprint, third.fingerprint], [third.line]);
  expect(other.withdrawn).toEqual([first.fingerprint]);
  expect(states(other.keys)).toEqual([
    [first.fingerprint, 'withdrawn'],
    [second.fingerprint, 'approved'],
    [third.fingerprint, 'approved'],
  ]);
  expect(other.keys.at(-1)).toMatchObject({ lastSeenAt: null, decidedBy: 'ada', type: 'ssh-ed25519' });
  expect(states(approve(other.keys, [first.fingerprint]).keys)[0]).toEqual([first.fingerprint, 'approved']);
});

it('approves nothing that was neither shown nor given, and nothing that was given beside', () => {
  expect(() => approve([], [first.fingerprint])).toThrow(first.fingerprint);
  const { keys } = approve(afterScan([], [first.line], at(0)).keys, [first.fingerprint], [second.line]);
  expect(states(keys)).toEqual([[first.fingerprint, 'approved']]);
});

it('does not take a withdrawn key for a new one, nor for a trusted one', () => {
  const pinned = approve(afterScan([], [first.line, second.line], at(0)).keys, [first.fingerprint]).keys;
  const moved = approve(pinned, [second.fingerprint]).keys;
  const { keys, raised } = afterScan(moved, [first.line], at(2));
  expect(raised).toEqual([]);
  expect(states(keys)[0]).toEqual([first.fingerprint, 'withdrawn']);
  expect(showsOthers(keys, at(2))).toBe(true);
});

it('keeps the newest proposals of a host that shows another key each time, and what was approved', () => {
  let keys = approve(afterScan([], [first.line], at(0)).keys, [first.fingerprint]).keys;
  for (let minute = 1; minute <= 40; minute++) keys = afterScan(keys, [key(`${minute}`).line], at(minute)).keys;
  expect(keys).toHaveLength(9);
  expect(keys.map(({ fingerprint }) => fingerprint)).toContain(first.fingerprint);
  expect(keys.at(-1)?.fingerprint).toBe(key('40').fingerprint);
});

it('trusts nothing of the old address at a new one', () => {
  const pinned = approve(afterScan([], [first.line, second.line], at(0)).keys, [first.fingerprint]).keys;
  expect(states(afterMove(pinned, 'ada'))).toEqual([[first.fingerprint, 'withdrawn']]);
});
