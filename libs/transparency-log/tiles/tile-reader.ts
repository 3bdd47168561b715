import { FairleadError } from '@fairlead/errors';
import type { LogEdge } from '../append-batch.js';
import { HASH_BYTES, hashSubtree, type Hash } from '../merkle/hashes.js';
import { decodeEntryBundle, encodeEntryBundle } from './entry-bundle.js';
import {
  TILE_WIDTH,
  entryBundlePath,
  levelsOf,
  partialTiles,
  tileAt,
  tilePath,
  type EntryBundle,
  type Tile,
} from './tile.js';

/** Where tiles come from: a database, a folder, a bucket. Each is asked for as wide as it is in the tree that is meant: a store that has it wider by now cuts it. */
export interface TileReader {
  /** `width` hashes of 32 bytes each, or the full tile, which begins with them; undefined if neither is there. */
  readTile(tile: Tile): Promise<Uint8Array | undefined>;
  /** `width` entries, each after its length, or the full bundle, which begins with them; undefined if neither is there. */
  readEntryBundle(bundle: EntryBundle): Promise<Uint8Array | undefined>;
}

/** A perfect subtree: of records `position * 2^height` on, 2^height of them. */
export interface TreeNode {
  readonly height: number;
  readonly position: number;
}

const TILE_HEIGHT = 8;

/** Reads nodes of a tree of one size from its tiles, each of which is asked for once. */
export class NodeReader {
  readonly #reader: TileReader;
  readonly #size: number;
  readonly #tiles = new Map<string, Promise<Uint8Array>>();

  constructor(reader: TileReader, size: number) {
    this.#reader = reader;
    this.#size = size;
  }

  /** The hash of a perfect subtree. Throws NOT_FOUND where its tile is missing, INVALID_ARGUMENT where it is too short. */
  async read({ height, position }: TreeNode): Promise<Hash> {
    const level = Math.floor(height / TILE_HEIGHT);
    const count = 2 ** (height % TILE_HEIGHT);
    const first = position * count;
    const tile = tileAt(level, first, this.#size);
    return hashSubtree(await this.#tile(tile), first % TILE_WIDTH, count);
  }

  #tile(tile: Tile): Promise<Uint8Array> {
    const path = tilePath(tile);
    const known = this.#tiles.get(path);
    if (known) return known;
    const read = readWholeTile(this.#reader, tile);
    this.#tiles.set(path, read);
    return read;
  }
}

/** The edge of a log of this size, to go on from. Throws as `NodeReader.read`. */
export async function readEdge(reader: TileReader, size: number): Promise<LogEdge> {
  const tiles = Array.from({ length: levelsOf(size) }, () => new Uint8Array(0) as Uint8Array);
  for (const tile of partialTiles(size)) tiles[tile.level] = await readWholeTile(reader, tile);
  const width = size % TILE_WIDTH;
  if (width === 0) return { size, tiles, bundle: new Uint8Array(0) };
  const bundle = { index: Math.floor(size / TILE_WIDTH), width };
  const bytes = await reader.readEntryBundle(bundle);
  if (bytes === undefined) throw missing(entryBundlePath(bundle));
  return { size, tiles, bundle: encodeEntryBundle(decodeEntryBundle(bytes).entries.slice(0, width)) };
}

async function readWholeTile(reader: TileReader, tile: Tile): Promise<Uint8Array> {
  const bytes = await reader.readTile(tile);
  if (bytes === undefined) throw missing(tilePath(tile));
  if (bytes.length < tile.width * HASH_BYTES)
    throw new FairleadError(
      'INVALID_ARGUMENT',
      `${tilePath(tile)} has ${bytes.length} bytes, and not ${tile.width * HASH_BYTES}: verify the log`,
    );
  return bytes.subarray(0, tile.width * HASH_BYTES);
}

function missing(path: string): FairleadError {
  return new FairleadError('NOT_FOUND', `${path} is missing: verify the log`, { details: { path } });
}
