import { FairleadError } from '@fairlead/errors';
import { EMPTY_EDGE, appendHashes, type TileData, type TreeEdge } from './merkle/growing-tree.js';
import { hashLeaf, type Hash } from './merkle/hashes.js';
import { decodeEntryBundle, encodeEntryBundle } from './tiles/entry-bundle.js';
import { TILE_WIDTH, type EntryBundle } from './tiles/tile.js';

/** The edge of a tree, and the entries of its last bundle if that is not full. At most 16 MiB, as much as 255 entries are. */
export interface LogEdge extends TreeEdge {
  readonly bundle: Uint8Array;
}

export const EMPTY_LOG: LogEdge = { ...EMPTY_EDGE, bundle: new Uint8Array(0) };

export interface BundleData extends EntryBundle {
  readonly bytes: Uint8Array;
}

/** What one transaction has to store, so that it is there whole or not at all. */
export interface AppendedBatch {
  /** The tiles that are new, or wider than before. */
  readonly newTiles: readonly TileData[];
  /** The entry bundles that are new, or wider than before. Who keeps entries one by one needs none. */
  readonly newBundles: readonly BundleData[];
  readonly newEdge: LogEdge;
  readonly root: Hash;
}

/**
 * Appends entries to a log. Nothing is stored and nothing is read: the edge is of the log as it is, and may be used once more only when
 * what came out of it was not stored. Throws TOO_LARGE for an entry of 64 KiB or more, INVALID_ARGUMENT for an edge that is not one.
 */
export function appendBatch(edge: LogEdge, entries: readonly Uint8Array[]): AppendedBatch {
  const before = decodeEntryBundle(edge.bundle);
  if (before.torn || before.entries.length !== edge.size % TILE_WIDTH)
    throw new FairleadError(
      'INVALID_ARGUMENT',
      `the last bundle of a log of ${edge.size} entries has ${before.entries.length}, and not ${edge.size % TILE_WIDTH}`,
    );
  const newBundles = entries.length === 0 ? [] : bundlesOf(edge.size, [...before.entries, ...entries]);
  const { newTiles, newEdge, root } = appendHashes(edge, entries.map(hashLeaf));
  const last = newBundles.at(-1) ?? { width: 0, bytes: edge.bundle };
  const bundle = last.width === TILE_WIDTH ? EMPTY_LOG.bundle : last.bytes;
  return { newTiles, newBundles, newEdge: { ...newEdge, bundle }, root };
}

/** Entries, from the first of the bundle that holds record `size` on, as bundles. */
function bundlesOf(size: number, entries: readonly Uint8Array[]): BundleData[] {
  const first = Math.floor(size / TILE_WIDTH);
  return Array.from({ length: Math.ceil(entries.length / TILE_WIDTH) }, (_, nth) => {
    const held = entries.slice(nth * TILE_WIDTH, (nth + 1) * TILE_WIDTH);
    return { index: first + nth, width: held.length, bytes: encodeEntryBundle(held) };
  });
}
