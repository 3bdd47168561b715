import { readFrom } from '@fairlead/persistence';
import {
  HASH_BYTES,
  decodeEntryBundle,
  encodeEntryBundle,
  type AppendedBatch,
  type EntryBundle,
  type Tile,
  type TileReader,
} from '@fairlead/transparency-log';
import type { DataSource, EntityManager } from 'typeorm';

/** One tree: of a tenant, and which of its trees. */
export interface TreeName {
  readonly tenantId: string;
  readonly incarnation: number;
}

/** In the column `kind`: the level of a tile, or this. */
const ENTRY_BUNDLE = -1;

/** The tiles of one tree in Postgres, cut to what is asked for. What is shorter, or damaged, is given as it is, for whoever verifies it to name. */
export class StoredTiles implements TileReader {
  constructor(
    private readonly manager: EntityManager,
    private readonly tree: TreeName,
  ) {}

  async readTile({ level, index, width }: Tile): Promise<Uint8Array | undefined> {
    return (await this.#read(level, index))?.subarray(0, width * HASH_BYTES);
  }

  async readEntryBundle({ index, width }: EntryBundle): Promise<Uint8Array | undefined> {
    const bytes = await this.#read(ENTRY_BUNDLE, index);
    if (bytes === undefined) return undefined;
    const { entries, torn } = decodeEntryBundle(bytes);
    return torn ? bytes : encodeEntryBundle(entries.slice(0, width));
  }

  async #read(kind: number, index: number): Promise<Uint8Array | undefined> {
    const { tenantId, incarnation } = this.tree;
    // What a log that began anew has not written itself is as the one before left it. Named one by one, they are looked up by the key.
    const incarnations = Array.from({ length: incarnation }, (_, at) => at + 1);
    const rows = (await this.manager.query(
      `select bytes from audit_tiles where tenant_id = $1 and incarnation = any($2::int[]) and kind = $3 and index = $4
        order by incarnation desc limit 1`,
      [tenantId, incarnations, kind, index],
    )) as { bytes: Buffer }[];
    return rows[0]?.bytes;
  }

  /** In the transaction that adds the records: tiles, bundles and size are there together or not at all. */
  async store({ newTiles, newBundles }: Pick<AppendedBatch, 'newTiles' | 'newBundles'>): Promise<void> {
    for (const { level, index, bytes } of newTiles) await this.#write(level, index, bytes);
    for (const { index, bytes } of newBundles) await this.#write(ENTRY_BUNDLE, index, bytes);
  }

  async #write(kind: number, index: number, bytes: Uint8Array): Promise<void> {
    const { tenantId, incarnation } = this.tree;
    await this.manager.query(
      `insert into audit_tiles (tenant_id, incarnation, kind, index, bytes) values ($1, $2, $3, $4, $5)
       on conflict (tenant_id, incarnation, kind, index) do update set bytes = excluded.bytes`,
      [tenantId, incarnation, kind, index, Buffer.from(bytes)],
    );
  }
}

/** The same, each read on its own: for whoever waits for somebody outside meanwhile, and holds no connection. */
export class TilesOfDatabase implements TileReader {
  constructor(
    private readonly database: DataSource,
    private readonly tree: TreeName,
  ) {}

  readTile(tile: Tile): Promise<Uint8Array | undefined> {
    return readFrom(this.database, (manager) => new StoredTiles(manager, this.tree).readTile(tile));
  }

  readEntryBundle(bundle: EntryBundle): Promise<Uint8Array | undefined> {
    return readFrom(this.database, (manager) => new StoredTiles(manager, this.tree).readEntryBundle(bundle));
  }
}
