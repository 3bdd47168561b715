import { MAX_AUDIT_EVIDENCE, fitPage, type AuditEvidence } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { readFrom } from '@fairlead/persistence';
import { appendBatch, parsePath, readEdge } from '@fairlead/transparency-log';
import type { DataSource } from 'typeorm';
import type { AppendToLog } from '../store/entries.js';
import { evidenceAfter } from '../store/evidence.js';
import { sizeOf } from '../store/search.js';
import { StoredTiles } from '../store/tile-store.js';
import { findTree, lockTree, saveTree } from '../store/tree-store.js';

/** Appends to the tree of a tenant, in the transaction that stores what the leaves are of. TOO_LARGE for a leaf of 64 KiB or more. */
export const appendToTree: AppendToLog = async (manager, tenantId, firstNumber, leaves) => {
  const tree = await lockTree(manager, tenantId);
  // The first record of a tree has the index 0, and the first entry of a log the number 1.
  if (tree.size !== firstNumber - 1) {
    const why = `its tree has ${tree.size} records, and its entries go up to ${firstNumber - 1}`;
    throw new FairleadError('INTERNAL', `the audit log of ${tenantId} does not fit together: ${why}`);
  }
  const tiles = new StoredTiles(manager, tree);
  const batch = appendBatch(await readEdge(tiles, tree.size), leaves);
  await tiles.store(batch);
  await saveTree(manager, { ...tree, size: batch.newEdge.size, root: Buffer.from(batch.root) });
};

/** Gives out what a tenant's log is verified by. */
export class AuditTree {
  constructor(private readonly database: DataSource) {}

  /** A tile or an entry bundle, by its path of C2SP tlog-tiles. NOT_FOUND; INVALID_ARGUMENT for what is no such path. */
  async tile(tenantId: string, path: string): Promise<Uint8Array> {
    const asked = parsePath(path);
    if (!asked) {
      throw new FairleadError('INVALID_ARGUMENT', 'this is no path of a tile or an entry bundle (C2SP tlog-tiles)');
    }
    const bytes = await readFrom(this.database, async (manager) => {
      const tree = await findTree(manager, tenantId);
      const tiles = tree && new StoredTiles(manager, tree);
      return asked.kind === 'tile' ? tiles?.readTile(asked.tile) : tiles?.readEntryBundle(asked.bundle);
    });
    if (!bytes) throw new FairleadError('NOT_FOUND', `the audit log has no ${path}`);
    return bytes;
  }

  /** What leaves are of, so that anybody can see that they are. An entry that is kept no more is left out; `next` goes by. */
  async evidence(tenantId: string, after: number): Promise<{ records: AuditEvidence[]; next: number; size: number }> {
    return readFrom(this.database, async (manager) => {
      const size = await sizeOf(manager, tenantId);
      const found = await evidenceAfter(manager, tenantId, { after, upTo: size, limit: MAX_AUDIT_EVIDENCE });
      const records = fitPage(found);
      const isWhole = records.length === found.length && found.length < MAX_AUDIT_EVIDENCE;
      return { records, next: isWhole ? Math.max(after, size) : (records.at(-1)?.number ?? after), size };
    });
  }
}
