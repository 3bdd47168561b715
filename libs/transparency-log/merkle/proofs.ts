import { NodeReader, type TileReader } from '../tiles/tile-reader.js';
import { FairleadError } from '@fairlead/errors';
import { EMPTY_ROOT, HASH_BYTES, hashChildren, requireSize, sameHash, splitPoint, type Hash } from './hashes.js';

/** Records `from` to `to`, without `to`: one subtree of the tree, of which only the last of a tree may be imperfect. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/** What a proof must say: that a record is in a tree, and of which size and root that is. */
export interface InclusionClaim {
  readonly index: number;
  readonly leafHash: Hash;
  readonly size: number;
  readonly root: Hash;
}

/** That one tree is the beginning of another. */
export interface ConsistencyClaim {
  readonly oldSize: number;
  readonly oldRoot: Hash;
  readonly newSize: number;
  readonly newRoot: Hash;
}

/**
 * The proof that record `index` is in the tree of `size` records, from the record up (RFC 6962, 2.1.1). It is as good as the tiles:
 * whoever doubts them verifies it. Throws INVALID_ARGUMENT for an index outside, NOT_FOUND where a tile is missing.
 */
export async function proveInclusion(reader: TileReader, index: number, size: number): Promise<Hash[]> {
  requireSize(size, 'the size of a tree');
  if (!Number.isSafeInteger(index) || index < 0 || index >= size)
    throw new FairleadError('INVALID_ARGUMENT', `there is no record ${index} in a tree of ${size}`);
  return hashesOf(reader, size, inclusionSpans(index, { from: 0, to: size }));
}

/**
 * The proof that the tree of `oldSize` records is the beginning of the one of `newSize` (RFC 6962, 2.1.2); empty where the sizes are
 * equal, and from the empty tree. Throws INVALID_ARGUMENT where the old one is larger, NOT_FOUND where a tile is missing.
 */
export async function proveConsistency(reader: TileReader, oldSize: number, newSize: number): Promise<Hash[]> {
  requireSize(oldSize, 'the size of the old tree');
  requireSize(newSize, 'the size of the new tree');
  if (oldSize > newSize)
    throw new FairleadError(
      'INVALID_ARGUMENT',
      `a tree of ${oldSize} records is not the beginning of one of ${newSize}`,
    );
  if (oldSize === 0) return [];
  return hashesOf(reader, newSize, consistencySpans(oldSize, { from: 0, to: newSize }, true));
}

/** Whether the proof shows the claim (RFC 9162, 2.1.3.2). False for whatever is malformed. */
export function verifyInclusion({ index, leafHash, size, root }: InclusionClaim, proof: readonly Hash[]): boolean {
  if (!Number.isSafeInteger(size) || !Number.isSafeInteger(index) || index < 0 || index >= size) return false;
  if (![leafHash, ...proof].every(isHash)) return false;
  let [position, last, hash] = [index, size - 1, leafHash];
  for (const sibling of proof) {
    if (last === 0) return false;
    if (isOdd(position) || position === last) {
      hash = hashChildren(sibling, hash);
      while (!isOdd(position) && position !== 0) [position, last] = [half(position), half(last)];
    } else {
      hash = hashChildren(hash, sibling);
    }
    [position, last] = [half(position), half(last)];
  }
  return last === 0 && sameHash(hash, root);
}

/** Whether the proof shows the claim (RFC 9162, 2.1.4.2). From the empty tree an empty proof does. False for whatever is malformed. */
export function verifyConsistency(claim: ConsistencyClaim, proof: readonly Hash[]): boolean {
  const { oldSize, oldRoot, newSize, newRoot } = claim;
  if (![oldSize, newSize].every(Number.isSafeInteger) || oldSize < 0 || oldSize > newSize) return false;
  if (![oldRoot, ...proof].every(isHash)) return false;
  if (oldSize === newSize) return proof.length === 0 && sameHash(oldRoot, newRoot);
  if (oldSize === 0) return proof.length === 0 && sameHash(oldRoot, EMPTY_ROOT);
  return replayConsistency(claim, proof);
}

function replayConsistency({ oldSize, oldRoot, newSize, newRoot }: ConsistencyClaim, proof: readonly Hash[]): boolean {
  let [position, last] = [oldSize - 1, newSize - 1];
  while (isOdd(position)) [position, last] = [half(position), half(last)];
  // An old tree that is perfect is a node of the new one: its root is not sent again.
  const [start, ...rest] = position === 0 ? [oldRoot, ...proof] : proof;
  if (start === undefined) return false;
  let [old, grown] = [start, start];
  for (const sibling of rest) {
    if (last === 0) return false;
    if (isOdd(position) || position === last) {
      [old, grown] = [hashChildren(sibling, old), hashChildren(sibling, grown)];
      while (!isOdd(position) && position !== 0) [position, last] = [half(position), half(last)];
    } else {
      grown = hashChildren(grown, sibling);
    }
    [position, last] = [half(position), half(last)];
  }
  return last === 0 && sameHash(old, oldRoot) && sameHash(grown, newRoot);
}

function inclusionSpans(index: number, { from, to }: Span): Span[] {
  if (to - from === 1) return [];
  const middle = from + splitPoint(to - from);
  const [left, right] = [
    { from, to: middle },
    { from: middle, to },
  ];
  return index < middle ? [...inclusionSpans(index, left), right] : [...inclusionSpans(index, right), left];
}

function consistencySpans(oldSize: number, { from, to }: Span, isWhole: boolean): Span[] {
  if (oldSize === to) return isWhole ? [] : [{ from, to }];
  const middle = from + splitPoint(to - from);
  if (oldSize <= middle) return [...consistencySpans(oldSize, { from, to: middle }, isWhole), { from: middle, to }];
  return [...consistencySpans(oldSize, { from: middle, to }, false), { from, to: middle }];
}

async function hashesOf(reader: TileReader, size: number, spans: readonly Span[]): Promise<Hash[]> {
  const nodes = new NodeReader(reader, size);
  return Promise.all(spans.map((span) => hashOf(nodes, span)));
}

async function hashOf(nodes: NodeReader, { from, to }: Span): Promise<Hash> {
  const count = to - from;
  const height = Math.round(Math.log2(count));
  if (2 ** height === count) return nodes.read({ height, position: from / count });
  const middle = from + splitPoint(count);
  return hashChildren(await hashOf(nodes, { from, to: middle }), await hashOf(nodes, { from: middle, to }));
}

const isHash = ({ length }: Hash): boolean => length === HASH_BYTES;
const isOdd = (value: number): boolean => value % 2 === 1;
const half = (value: number): number => Math.floor(value / 2);
