import type { DesiredState, Handover } from '@fairlead/desired-state';
import { testAuthority, testTrustBundle, type TestAuthority } from '@fairlead/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { CLUSTER_ID, handoverOf, stateOf } from '../testing/control-plane.js';
import type { HighWater } from '../state/high-water.js';
import { acceptHandover, type Accepted, type Trusted } from './accept-handover.js';

const nothing: Trusted = { trustVersion: 0, rootsPem: [], desired: null };
let authority: TestAuthority;
let other: TestAuthority;

beforeAll(async () => {
  [authority, other] = await Promise.all([testAuthority(), testAuthority()]);
});

const accept = (
  held: Trusted,
  handover: Handover,
  at = new Date(),
  highWater: HighWater | null = null,
): Promise<Accepted> => {
  const installed = { clusterId: CLUSTER_ID, trustDomain: 'fairlead.local', pins: authority.pins, highWater };
  return acceptHandover(held, handover, installed, at);
};
const signed = (state: DesiredState, by = authority, signer?: string): Promise<Handover> =>
  handoverOf(by, state, signer);
const codes = ({ refused }: Accepted): string[] => refused.map(({ code }) => code);

async function trustOf(by: TestAuthority, roots: TestAuthority, version: number): Promise<Handover['trust']> {
  const { signed } = await testTrustBundle({ ...by, roots: roots.roots }, version);
  return { document: signed.bundle, signerChain: signed.signerChain, signature: signed.signature };
}

describe('desired state', () => {
  it('counts when the keys service signed it below a pinned root', async () => {
    const taken = await accept(nothing, await signed(stateOf(3, null)));
    expect(taken).toMatchObject({ trustVersion: 0, desired: { revision: 3 }, refused: [] });
    expect(taken.rootsPem).toEqual(authority.roots);
  });

  it('of another signer, another root or with another signature does not', async () => {
    expect(codes(await accept(nothing, await signed(stateOf(3, null), authority, 'gitops')))).toEqual([
      'STATE_REFUSED',
    ]);
    expect(codes(await accept(nothing, await signed(stateOf(3, null), other)))).toEqual(['ROOTS_NOT_PINNED']);
    const below = { ...(await signed(stateOf(3, null), other)), roots: [...authority.roots] };
    expect(codes(await accept(nothing, below))).toEqual(['STATE_REFUSED']);
    const handover = await signed(stateOf(3, null));
    const document = Buffer.from(JSON.stringify(stateOf(4, null))).toString('base64');
    const changed = { ...handover, desiredState: handover.desiredState && { ...handover.desiredState, document } };
    expect(codes(await accept(nothing, changed))).toEqual(['STATE_REFUSED']);
  });

  it('of another cluster is refused as that', async () => {
    const elsewhere = stateOf(3, null, { clusterId: '11111111-2222-4333-8444-555555555555' });
    expect(codes(await accept(nothing, await signed(elsewhere)))).toEqual(['STATE_OF_ANOTHER_CLUSTER']);
  });

  it('never goes back, and has one content for a revision', async () => {
    const held = await accept(nothing, await signed(stateOf(3, null)));
    const older = await accept(held, await signed(stateOf(2, null)));
    expect([codes(older), older.desired?.revision]).toEqual([['STATE_OLDER'], 3]);
    const twice = await accept(held, await signed(stateOf(3, null, { remove: 'everything' })));
    expect([codes(twice), twice.desired?.remove]).toEqual([['STATE_AMBIGUOUS'], 'keep']);
  });

  it('that is held stays good when its signer is not any more, and what is withheld changes nothing', async () => {
    const handover = await signed(stateOf(3, null));
    const held = await accept(nothing, handover);
    const later = new Date(Date.now() + 48 * 3_600_000);
    expect(await accept(held, handover, later)).toMatchObject({ desired: { revision: 3 }, refused: [] });
    expect(codes(await accept(nothing, handover, later))).toEqual(['STATE_REFUSED']);
    const empty = await accept(held, { trust: null, roots: [], desiredState: null });
    expect(empty).toMatchObject({ desired: { revision: 3 } });
  });
});

describe('an installer that has lost its memory', () => {
  it('takes no older state than was here before', async () => {
    const highWater: HighWater = { clusterId: CLUSTER_ID, revision: 5, trustVersion: 0, pins: [] };
    const again = await accept(nothing, await signed(stateOf(4, null)), new Date(), highWater);
    expect([codes(again), again.desired]).toEqual([['STATE_OLDER'], null]);
    const newest = await accept(nothing, await signed(stateOf(5, null)), new Date(), highWater);
    expect([codes(newest), newest.desired?.revision]).toEqual([[], 5]);
  });

  it('believes the roots that it believed, not those that it was installed with', async () => {
    const highWater: HighWater = { clusterId: CLUSTER_ID, revision: 1, trustVersion: 3, pins: [...other.pins] };
    const retired = { ...(await signed(stateOf(9, null))), trust: await trustOf(authority, authority, 9) };
    expect(codes(await accept(nothing, retired, new Date(), highWater))).toEqual(['ROOTS_NOT_PINNED']);
    // Of the time of the rotation: the new root signed it, and the old one is in it.
    const both = { ...authority, roots: [...authority.roots, ...other.roots] };
    const state = await signed(stateOf(1, null), other);
    const before = { ...state, trust: await trustOf(other, both, 2) };
    expect(await accept(nothing, before, new Date(), highWater)).toMatchObject({
      trustVersion: 0,
      rootsPem: other.roots,
    });
    const now = { ...state, trust: await trustOf(other, other, 3) };
    expect(await accept(nothing, now, new Date(), highWater)).toMatchObject({
      trustVersion: 3,
      rootsPem: other.roots,
      refused: [],
    });
  });
});

describe('a rotation of the root', () => {
  it('is followed by what the old root signed, and only by that', async () => {
    const pinned = await accept(nothing, {
      ...(await signed(stateOf(1, null))),
      trust: await trustOf(authority, authority, 1),
    });
    expect(pinned).toMatchObject({ trustVersion: 1, refused: [] });
    const moved = await accept(pinned, {
      ...(await signed(stateOf(2, null), other)),
      trust: await trustOf(authority, other, 2),
    });
    expect(moved).toMatchObject({ trustVersion: 2, rootsPem: other.roots, desired: { revision: 2 }, refused: [] });
    // The pin of the old root is still there, and does not count any more.
    const old = await accept(moved, {
      ...(await signed(stateOf(3, null))),
      trust: await trustOf(authority, authority, 3),
    });
    expect(codes(old)).toEqual(['TRUST_REFUSED', 'STATE_REFUSED']);
    expect(old).toMatchObject({ trustVersion: 2, desired: { revision: 2 } });
  });

  it('cannot be sent far ahead, where nobody could follow', async () => {
    const first = await trustOf(authority, authority, 1);
    const held = await accept(nothing, { ...(await signed(stateOf(1, null))), trust: first });
    const far = await accept(held, {
      ...(await signed(stateOf(1, null))),
      trust: await trustOf(authority, other, 900_000),
    });
    expect(far).toMatchObject({ trustVersion: 1, rootsPem: authority.roots });
    expect(codes(far)).toEqual(['TRUST_REFUSED']);
  });

  it('never goes back to a bundle that was held before', async () => {
    const first = await trustOf(authority, authority, 5);
    const held = await accept(nothing, { ...(await signed(stateOf(1, null))), trust: first });
    const again = await accept(held, {
      ...(await signed(stateOf(1, null))),
      trust: await trustOf(authority, other, 4),
    });
    expect(again).toMatchObject({ trustVersion: 5, rootsPem: authority.roots, refused: [] });
  });
});
