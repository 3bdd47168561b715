import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { AppendedBatch } from '../append-batch.js';
import type { TileReader } from './tile-reader.js';
import { TILE_WIDTH, entryBundlePath, tilePath, type EntryBundle, type Tile } from './tile.js';

/** A log as files in the layout of tlog-tiles, as any web server serves them and any tool reads them. */
export class TileFolder implements TileReader {
  constructor(readonly root: string) {}

  readTile(tile: Tile): Promise<Uint8Array | undefined> {
    return this.#readEither(tilePath(tile), tilePath({ ...tile, width: TILE_WIDTH }));
  }

  readEntryBundle(bundle: EntryBundle): Promise<Uint8Array | undefined> {
    return this.#readEither(entryBundlePath(bundle), entryBundlePath({ ...bundle, width: TILE_WIDTH }));
  }

  /** The signed checkpoint; undefined if there is none yet. */
  readCheckpoint(): Promise<Uint8Array | undefined> {
    return this.#read('checkpoint');
  }

  /** Writes tiles and bundles, and last the checkpoint, which leads readers to them. What was there of them is replaced. */
  async write({ newTiles, newBundles }: AppendedBatch, checkpoint: Uint8Array): Promise<void> {
    for (const tile of newTiles) await this.#write(tilePath(tile), tile.bytes);
    for (const bundle of newBundles) await this.#write(entryBundlePath(bundle), bundle.bytes);
    await this.#write('checkpoint', checkpoint);
  }

  /** A partial tile may be gone once the full one is there, which begins with it. */
  async #readEither(path: string, fullPath: string): Promise<Uint8Array | undefined> {
    return (await this.#read(path)) ?? (path === fullPath ? undefined : this.#read(fullPath));
  }

  async #read(path: string): Promise<Uint8Array | undefined> {
    try {
      return await readFile(join(this.root, path));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  async #write(path: string, bytes: Uint8Array): Promise<void> {
    const target = join(this.root, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, bytes);
  }
}
