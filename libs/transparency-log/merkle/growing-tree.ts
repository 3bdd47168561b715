import { FairleadError } from '@fairlead/errors';
import { TILE_WIDTH, hashesAtLevel, levelsOf, type Tile } from '../tiles/tile.js';
import { EMPTY_ROOT, HASH_BYTES, hashChildren, hashSubtree, type Hash } from './hashes.js';

/** All that a tree must know of itself to grow, and its root: the tiles at its right edge that are not full. At most 8 KiB a level. */
export interface TreeEdge {
  readonly size: number;
  /** By level, 32 bytes a hash; empty where the last tile of a level is full. */
  readonly tiles: readonly Uint8Array[];
}

export const EMPTY_EDGE: TreeEdge = { size: 0, tiles: [] };

/** A tile with its hashes, of 32 bytes each. */
export interface TileData extends Tile {
  readonly bytes: Uint8Array;
}

/** A hash that became known when the tile below it was full. */
export interface CompletedHash {
  readonly level: number;
  /** Which hash of that level. */
  readonly position: number;
  readonly hash: Hash;
}

const NONE: readonly CompletedHash[] = [];
const TILE_BYTES = TILE_WIDTH * HASH_BYTES;

/** A tree that takes one record after the other. It holds one tile of each level, however many records it has. */
export class GrowingTree {
  #size: number;
  /** The last tile of each level; how much of it counts follows from the size. */
  readonly #tiles: Uint8Array[];

  /** Throws INVALID_ARGUMENT where the tiles are not those of a tree of that size. */
  constructor(edge: TreeEdge = EMPTY_EDGE) {
    this.#size = edge.size;
    this.#tiles = Array.from({ length: levelsOf(edge.size) }, (_, level) => copyTile(edge, level));
  }

  get size(): number {
    return this.#size;
  }

  /** Appends a record by its hash. Tells full tiles to `onFull`, and gives the hashes that they became at the level above. */
  append(leafHash: Hash, onFull?: (tile: TileData) => void): readonly CompletedHash[] {
    let position = this.#size;
    let completed: CompletedHash[] | undefined;
    let hash = leafHash;
    for (let level = 0; ; level++) {
      const tile = (this.#tiles[level] ??= new Uint8Array(TILE_BYTES));
      const slot = position % TILE_WIDTH;
      tile.set(hash, slot * HASH_BYTES);
      if (slot < TILE_WIDTH - 1) break;
      position = Math.floor(position / TILE_WIDTH);
      onFull?.({ level, index: position, width: TILE_WIDTH, bytes: tile.slice() });
      hash = hashSubtree(tile, 0, TILE_WIDTH);
      (completed ??= []).push({ level: level + 1, position, hash });
    }
    this.#size += 1;
    return completed ?? NONE;
  }

  /** The edge as it is now, which later records do not change. */
  edge(): TreeEdge {
    const tiles = this.#tiles.map((tile, level) => tile.slice(0, this.#widthAt(level) * HASH_BYTES));
    return { size: this.#size, tiles };
  }

  #widthAt(level: number): number {
    return hashesAtLevel(this.#size, level) % TILE_WIDTH;
  }
}

/** The root of a tree, from its edge alone (RFC 6962, 2.1). */
export function rootOf(edge: TreeEdge): Hash {
  const peaks = edge.tiles.toReversed().flatMap(peaksOf);
  return peaks.length === 0 ? EMPTY_ROOT : peaks.reduceRight((right, left) => hashChildren(left, right));
}

export interface AppendedHashes {
  /** The tiles that are new, or wider than before, each as wide as it is now. A full one ends a partial one of its index. */
  readonly newTiles: readonly TileData[];
  readonly newEdge: TreeEdge;
  readonly root: Hash;
}

/** Appends records by their hashes. */
export function appendHashes(edge: TreeEdge, leafHashes: readonly Hash[]): AppendedHashes {
  const tree = new GrowingTree(edge);
  const newTiles: TileData[] = [];
  for (const hash of leafHashes) tree.append(hash, (tile) => newTiles.push(tile));
  const newEdge = tree.edge();
  newEdge.tiles.forEach((bytes, level) => {
    const hashes = hashesAtLevel(newEdge.size, level);
    const width = bytes.length / HASH_BYTES;
    if (width > 0 && hashes > hashesAtLevel(edge.size, level))
      newTiles.push({ level, index: Math.floor(hashes / TILE_WIDTH), width, bytes });
  });
  return { newTiles, newEdge, root: rootOf(newEdge) };
}

/** The perfect subtrees in a tile that is not full, the largest first. */
function peaksOf(tile: Uint8Array): Hash[] {
  const peaks: Hash[] = [];
  let first = 0;
  for (let left = tile.length / HASH_BYTES; left > 0;) {
    const count = 2 ** Math.floor(Math.log2(left));
    peaks.push(hashSubtree(tile, first, count));
    first += count;
    left -= count;
  }
  return peaks;
}

function copyTile({ size, tiles }: TreeEdge, level: number): Uint8Array {
  const width = hashesAtLevel(size, level) % TILE_WIDTH;
  const bytes = tiles[level];
  if (bytes?.length !== width * HASH_BYTES)
    throw new FairleadError(
      'INVALID_ARGUMENT',
      `the edge of a tree of ${size} records has ${bytes?.length ?? 0} bytes at level ${level}, and not ${width * HASH_BYTES}`,
    );
  const tile = new Uint8Array(TILE_BYTES);
  tile.set(bytes);
  return tile;
}
