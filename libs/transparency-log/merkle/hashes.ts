import { hash } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';

/** SHA-256, 32 bytes: of a record, of a subtree, or of a whole tree (its root). */
export type Hash = Uint8Array;

export const HASH_BYTES = 32;

/** The root of a tree without records. */
export const EMPTY_ROOT: Hash = hash('sha256', new Uint8Array(0), 'buffer');

// One prefix for records and one for inner nodes keep a node from being taken for a record (RFC 6962, 2.1).
const LEAF_PREFIX = Uint8Array.of(0);
const NODE_PREFIX = 1;

/** The hash of a record as it stands in the tree (RFC 6962, 2.1). */
export function hashLeaf(entry: Uint8Array): Hash {
  return hash('sha256', Buffer.concat([LEAF_PREFIX, entry]), 'buffer');
}

const node = new Uint8Array(1 + 2 * HASH_BYTES);
node[0] = NODE_PREFIX;

/** The hash of the node above two others. Each has 32 bytes. */
export function hashChildren(left: Hash, right: Hash): Hash {
  // One buffer for all: it is read before anybody else comes, and there are as many nodes as records.
  node.set(left, 1);
  node.set(right, 1 + HASH_BYTES);
  return hash('sha256', node, 'buffer');
}

/** Of a subtree whose `count` lowest nodes, a power of two, stand one after the other in `hashes`, from the node `first` on. */
export function hashSubtree(hashes: Uint8Array, first: number, count: number): Hash {
  if (count === 1) return hashes.slice(first * HASH_BYTES, (first + 1) * HASH_BYTES);
  const half = count / 2;
  return hashChildren(hashSubtree(hashes, first, half), hashSubtree(hashes, first + half, half));
}

export function sameHash(left: Hash, right: Hash): boolean {
  return Buffer.compare(left, right) === 0;
}

/** The largest power of two below `size`, which is at least 2. Sizes do not fit into 32 bits, so nothing here shifts bits. */
export function splitPoint(size: number): number {
  let point = 1;
  while (point * 2 < size) point *= 2;
  return point;
}

/** Throws INVALID_ARGUMENT unless it is a number of records that can be computed with exactly. */
export function requireSize(size: number, what: string): void {
  if (!Number.isSafeInteger(size) || size < 0)
    throw new FairleadError('INVALID_ARGUMENT', `${what} is ${size}, and not a whole number from 0 to 2^53-1`);
}
