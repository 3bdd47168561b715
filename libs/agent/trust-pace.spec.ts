import type { SignedTrust } from '@fairlead/pki';
import { expect, it } from 'vitest';
import { AgentIdentity } from './agent-identity.js';
import { withRoots } from './agent-trust.js';
import { highestFor, ownTime, trustSince, type OwnTime } from './trust-pace.js';

const DAY_MS = 86_400_000;
const began = Date.parse('2026-11-22T00:00:00Z');

const unmoved = (ms: number): OwnTime => ({ wallMs: ms, unmovedMs: ms });
const identity = (change: Partial<AgentIdentity> = {}): AgentIdentity => ({
  clusterId: '6d7f8d3e-8a53-4b6e-9d0a-1f2e3d4c5b6a',
  generation: 1,
  trustDomain: 'fairlead.test',
  keyPem: '',
  chainPem: ['leaf'],
  rootsPem: ['root'],
  trustVersion: 5,
  trustSince: { version: 5, atMs: began },
  ...change,
});
const after = (ms: number, change: Partial<AgentIdentity> = {}): number =>
  highestFor(identity(change), unmoved(began + ms));

it('lets versions rise by 1,000 for each day since the first one, whatever was taken in between', () => {
  expect([0, DAY_MS - 1, DAY_MS, 30 * DAY_MS].map((ms) => after(ms))).toEqual([1_005, 1_005, 2_005, 31_005]);
  expect(after(DAY_MS, { trustVersion: 2_005 })).toBe(2_005);
});

it('gives nothing for a clock that is moved, forward or back, while the process lives', () => {
  const year = 365 * DAY_MS;
  const moved = (wallMs: number, unmovedMs: number): number => highestFor(identity(), { wallMs, unmovedMs });
  expect(moved(began + year, began)).toBe(1_005);
  expect(moved(began - year, began + DAY_MS)).toBe(1_005);
  // What counts from is never earlier than either clock says.
  for (const [wallMs, unmovedMs] of [
    [began, began - year],
    [began - year, began],
  ] as const) {
    expect(trustSince({ trustVersion: 0 }, 7, { wallMs, unmovedMs })).toEqual({ version: 7, atMs: began });
  }
});

it('knows by how much the clock was moved', () => {
  const { wallMs, unmovedMs } = ownTime();
  expect(Math.abs(wallMs - unmovedMs)).toBeLessThan(60_000);
});

it('counts from the first version that was held, once: from now for an identity from before it was kept', () => {
  const held = trustSince(identity(), 900, unmoved(began + DAY_MS));
  expect(held).toEqual({ version: 5, atMs: began });
  const before = identity({ trustSince: undefined });
  expect(trustSince(before, 900, unmoved(began + DAY_MS))).toEqual({ version: 5, atMs: began + DAY_MS });
  expect(highestFor(before, unmoved(began + DAY_MS))).toBe(1_005);
  expect(highestFor(identity({ trustVersion: 0, trustSince: undefined }))).toBe(Infinity);
});

it('survives being stored, and what cannot be read of it does not cost the identity', () => {
  const stored: unknown = JSON.parse(JSON.stringify(identity()));
  expect(AgentIdentity.parse(stored).trustSince).toEqual({ version: 5, atMs: began });
  expect(AgentIdentity.parse({ ...identity(), trustSince: 'x' })).toMatchObject({ trustVersion: 5 });
});

it('is looked at again when a bundle is taken: of two that came at once, the second counts from where the first one went', () => {
  const signed: SignedTrust = { bundle: new Uint8Array(), signerChainPem: [], signature: new Uint8Array() };
  const take = (from: AgentIdentity, version: number): AgentIdentity =>
    withRoots(from, { version, trustDomain: 'fairlead.test', rootsPem: ['root'] }, signed);
  const now = identity({ trustSince: undefined });
  const moved = take(now, 1_005);
  expect(moved).toMatchObject({ trustVersion: 1_005, trustSince: { version: 5 } });
  expect(take(moved, 1_006)).toBe(moved);
  expect(take(identity({ trustSince: { version: 5, atMs: Date.now() - DAY_MS } }), 1_006)).toMatchObject({
    trustVersion: 1_006,
  });
});
