import { FairleadError } from '@fairlead/errors';
import { entryBundlePath, tilePath, type EntryBundle, type Tile, type TileReader } from '@fairlead/transparency-log';
import type { ApiClient } from '../session/api-client.js';
import { AuditTile } from '../session/audit-log-answers.js';

/** The tiles of the log that the server has, each asked for by its path. */
export class TilesOverApi implements TileReader {
  constructor(private readonly api: ApiClient) {}

  readTile(tile: Tile): Promise<Uint8Array | undefined> {
    return this.#read(tilePath(tile));
  }

  readEntryBundle(bundle: EntryBundle): Promise<Uint8Array | undefined> {
    return this.#read(entryBundlePath(bundle));
  }

  async #read(path: string): Promise<Uint8Array | undefined> {
    try {
      const { bytes } = await this.api.ask(AuditTile, `/v1/audit/log/tile?path=${encodeURIComponent(path)}`);
      return Buffer.from(bytes, 'base64');
    } catch (error) {
      if (error instanceof FairleadError && error.code === 'NOT_FOUND') return undefined;
      throw error;
    }
  }
}
