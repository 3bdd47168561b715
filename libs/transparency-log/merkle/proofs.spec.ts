import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ARGON_2020 } from '../testing/argon2020.js';
import { LogInMemory, entries, naiveConsistency, naiveInclusion } from '../testing/index.js';
import { EMPTY_ROOT, hashLeaf, type Hash } from './hashes.js';
import { proveConsistency, proveInclusion, verifyConsistency, verifyInclusion } from './proofs.js';

const text = (hashes: readonly Hash[]): string[] => hashes.map((hash) => Buffer.from(hash).toString('hex'));
const bytes = (base64: string): Buffer => Buffer.from(base64, 'base64');
const roots = new Map<number, Hash>();
const all = entries(0, 1_000);
const log = new LogInMemory();
roots.set(0, EMPTY_ROOT);
for (const [index, entry] of all.entries()) roots.set(index + 1, log.append([entry]).root);
const root = (size: number): Hash => roots.get(size)!;
const flipped = (hash: Hash): Hash => hash.map((byte, at) => (at === 31 ? byte ^ 1 : byte));

describe('an inclusion proof', () => {
  const place = fc.integer({ min: 1, max: 1_000 }).chain((size) => fc.tuple(fc.nat(size - 1), fc.constant(size)));

  it('is that of the naive way, and shows that the record is there and nowhere else', async () => {
    await fc.assert(
      fc.asyncProperty(place, fc.nat(999), async ([index, size], other) => {
        const proof = await proveInclusion(log, index, size);
        expect(text(proof)).toEqual(text(naiveInclusion(index, all.slice(0, size))));
        const claim = { index, leafHash: hashLeaf(all[index]!), size, root: root(size) };
        expect(verifyInclusion(claim, proof)).toBe(true);
        expect(verifyInclusion({ ...claim, leafHash: hashLeaf(Buffer.from('another')) }, proof)).toBe(false);
        expect(verifyInclusion({ ...claim, root: flipped(claim.root) }, proof)).toBe(false);
        expect(verifyInclusion({ ...claim, index: other }, proof)).toBe(other === index);
        expect(verifyInclusion(claim, [...proof, root(1)])).toBe(false);
        expect(verifyInclusion(claim, proof.slice(1))).toBe(proof.length === 0);
      }),
      { numRuns: 60 },
    );
  });

  it('is refused when it ends below the root', () => {
    expect(verifyInclusion({ index: 0, leafHash: root(1), size: 2, root: root(1) }, [])).toBe(false);
  });

  it('is not made for a record that is not there', async () => {
    await expect(proveInclusion(log, 5, 5)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(proveInclusion(new LogInMemory(), 3, 5)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('of a real log of a thousand million records is verified', () => {
    const { index, leafHash, size, root, inclusion } = ARGON_2020;
    const claim = { index, leafHash: bytes(leafHash), size, root: bytes(root) };
    expect(verifyInclusion(claim, inclusion.map(bytes))).toBe(true);
    expect(verifyInclusion({ ...claim, index: index + 1 }, inclusion.map(bytes))).toBe(false);
  });
});

describe('a consistency proof', () => {
  const sizes = fc
    .tuple(fc.nat(1_000), fc.nat(1_000))
    .map((pair) => pair.toSorted((a, b) => a - b) as [number, number]);

  it('is that of the naive way, and shows that the one tree is the beginning of the other', async () => {
    await fc.assert(
      fc.asyncProperty(sizes, async ([oldSize, newSize]) => {
        const proof = await proveConsistency(log, oldSize, newSize);
        expect(text(proof)).toEqual(oldSize === 0 ? [] : text(naiveConsistency(oldSize, all.slice(0, newSize))));
        const claim = { oldSize, oldRoot: root(oldSize), newSize, newRoot: root(newSize) };
        expect(verifyConsistency(claim, proof)).toBe(true);
        expect(verifyConsistency({ ...claim, oldRoot: flipped(claim.oldRoot) }, proof)).toBe(false);
        // From nothing, everything follows.
        const followsFromNothing = oldSize === 0 && newSize > 0;
        expect(verifyConsistency({ ...claim, newRoot: flipped(claim.newRoot) }, proof)).toBe(followsFromNothing);
        expect(verifyConsistency(claim, [...proof, root(1)])).toBe(false);
        expect(verifyConsistency(claim, proof.slice(1))).toBe(proof.length === 0);
      }),
      { numRuns: 60 },
    );
  });

  it('leads to no fork', async () => {
    const fork = new LogInMemory().append(all.slice(0, 500)).append(entries(500, 800, 'other'));
    const proof = await proveConsistency(fork, 600, 800);
    const claim = { oldSize: 600, oldRoot: root(600), newSize: 800, newRoot: fork.root };
    expect(verifyConsistency(claim, proof)).toBe(false);
    const common = { ...claim, oldSize: 500, oldRoot: root(500) };
    expect(verifyConsistency(common, await proveConsistency(fork, 500, 800))).toBe(true);
  });

  it('is refused when a hash in it has another length', async () => {
    const proof = await proveConsistency(log, 600, 800);
    const claim = { oldSize: 600, oldRoot: root(600), newSize: 800, newRoot: root(800) };
    expect(verifyConsistency(claim, [Buffer.alloc(33), ...proof.slice(1)])).toBe(false);
    expect(verifyConsistency(claim, [Buffer.alloc(31), ...proof.slice(1)])).toBe(false);
    await expect(proveConsistency(log, 6, 5)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('of a real log of a thousand million records is verified', () => {
    const { oldSize, oldRoot, size, root, consistency } = ARGON_2020;
    const claim = { oldSize, oldRoot: bytes(oldRoot), newSize: size, newRoot: bytes(root) };
    expect(verifyConsistency(claim, consistency.map(bytes))).toBe(true);
    expect(verifyConsistency({ ...claim, oldSize: oldSize + 1 }, consistency.map(bytes))).toBe(false);
  });
});
