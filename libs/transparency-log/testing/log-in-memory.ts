import { EMPTY_LOG, appendBatch, type LogEdge } from '../append-batch.js';
import { EMPTY_ROOT, type Hash } from '../merkle/hashes.js';
import type { TileReader } from '../tiles/tile-reader.js';
import { entryBundlePath, tilePath, type EntryBundle, type Tile } from '../tiles/tile.js';

/** A log whose tiles are in a map by their paths, for tests to read and to damage. Nothing is removed when a tile gets wider. */
export class LogInMemory implements TileReader {
  readonly files = new Map<string, Uint8Array>();
  edge: LogEdge = EMPTY_LOG;
  root: Hash = EMPTY_ROOT;

  append(entries: readonly Uint8Array[]): this {
    const { newTiles, newBundles, newEdge, root } = appendBatch(this.edge, entries);
    for (const tile of newTiles) this.files.set(tilePath(tile), tile.bytes);
    for (const bundle of newBundles) this.files.set(entryBundlePath(bundle), bundle.bytes);
    this.edge = newEdge;
    this.root = root;
    return this;
  }

  async readTile(tile: Tile): Promise<Uint8Array | undefined> {
    return this.files.get(tilePath(tile)) ?? this.files.get(tilePath({ ...tile, width: 256 }));
  }

  async readEntryBundle(bundle: EntryBundle): Promise<Uint8Array | undefined> {
    return this.files.get(entryBundlePath(bundle)) ?? this.files.get(entryBundlePath({ ...bundle, width: 256 }));
  }
}

/** Entries `from` to `to`, without `to`, each different. */
export function entries(from: number, to: number, text = 'entry'): Uint8Array[] {
  return Array.from({ length: to - from }, (_, nth) => Buffer.from(`${text} ${from + nth}`));
}
