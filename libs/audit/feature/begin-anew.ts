import { keysRpc, type BegunAnew, type SignedAuditTree } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { RpcClient } from '@fairlead/messaging';
import { inTransaction, readFrom } from '@fairlead/persistence';
import { proveConsistency, verifyConsistency } from '@fairlead/transparency-log';
import { ownEntry } from '../domain/entry.js';
import { whileNobodySigns } from '../store/signing-lock.js';
import { TilesOfDatabase } from '../store/tile-store.js';
import { findTree, lockTree, saveTree, type StoredTree } from '../store/tree-store.js';
import { addEntries } from './add-entries.js';
import type { Runtime } from './runtime.js';
import { AUDIT_SOURCE } from './take-batch.js';

interface Asked {
  /** Who asks, for the record. */
  readonly by: string;
  /** Also where the log goes on from what was signed: its witnesses may have seen another one. */
  readonly force: boolean;
}

/**
 * Lets a log that cannot go on begin anew under another origin. It has all entries that are left, and then one that links the checkpoint that was signed last of the log before. It is done in two
 * steps, the second of which may be asked for again: here, and then at `keys`.
 */
export class BeginAnew {
  constructor(
    private readonly runtime: Runtime,
    /** Of `keys`. */
    private readonly rpc: RpcClient,
  ) {}

  /**
   * NOT_FOUND: nothing of it was signed. CONFLICT: it goes on from what was signed, so that there is no reason to. UNAVAILABLE: ask once more. While it lasts, nothing else of the log is signed: the
   * entry that links it says what was signed last.
   */
  begin(tenantId: string, asked: Asked): Promise<BegunAnew> {
    return whileNobodySigns(this.runtime.database, tenantId, () => this.#begin(tenantId, asked));
  }

  async #begin(tenantId: string, { by, force }: Asked): Promise<BegunAnew> {
    const { database } = this.runtime;
    const { tree: last } = await this.rpc.call(keysRpc.auditLog, tenantId, {});
    const before = await readFrom(database, (manager) => findTree(manager, tenantId));
    if (!last || !before) throw new FairleadError('NOT_FOUND', 'nothing of the audit log was signed yet');
    const isBegun = before.incarnation === last.incarnation + 1 && before.signedSize === 0;
    if (!isBegun) {
      if (!force && (await this.#goesOn(before, last))) {
        const why = `the audit log of ${before.size} entries goes on from the one of ${last.size} that was signed: there is no reason to begin anew`;
        throw new FairleadError('CONFLICT', why);
      }
      await this.#link(before, last, by);
    }
    const tree = await this.#sign(tenantId, last, by);
    return { tree, previous: { origin: last.origin, size: last.size } };
  }

  async #goesOn(tree: StoredTree, { incarnation, size, root }: SignedAuditTree): Promise<boolean> {
    if (tree.incarnation !== incarnation || tree.size < size) return false;
    const claim = { oldSize: size, oldRoot: Buffer.from(root, 'base64'), newSize: tree.size, newRoot: tree.root };
    return verifyConsistency(
      claim,
      await proveConsistency(new TilesOfDatabase(this.runtime.database, tree), size, tree.size),
    );
  }

  /** The tree under its next name, and in it the entry that says so. */
  async #link(
    before: StoredTree,
    { incarnation, origin, size, verifierKey, note }: SignedAuditTree,
    by: string,
  ): Promise<void> {
    const { tenantId } = before;
    await inTransaction(this.runtime.database, async (manager) => {
      // Entries are numbered first, and then joined to the tree: in that order both are locked.
      await manager.query('select 1 from tenant_logs where tenant_id = $1 for update', [tenantId]);
      const tree = await lockTree(manager, tenantId);
      if (tree.incarnation !== before.incarnation)
        throw new FairleadError('CONFLICT', 'somebody else lets the audit log begin anew just now');
      await saveTree(manager, { ...tree, incarnation: incarnation + 1, signedSize: 0 });
      const last = { origin, size, verifierKey, checkpoint: note };
      // After a restore others may have got the numbers of what was lost: of what was signed by then, nothing is lost.
      const left = { kept: tree.size, signed: Math.min(before.signedSize, size) };
      const body = { statement: 'begun-anew', incarnation: incarnation + 1, ...left, last, by };
      const action = `the log begins anew after ${origin} with ${size} entries`;
      const entry = ownEntry('begun-anew', {
        tenantId,
        at: this.runtime.now(),
        source: AUDIT_SOURCE,
        user: by,
        action,
        body,
      });
      await addEntries(this.runtime, manager, [entry]);
    });
  }

  /** UNAVAILABLE and the like: ask once more. */
  async #sign(tenantId: string, last: SignedAuditTree, by: string): Promise<SignedAuditTree> {
    const { database } = this.runtime;
    const tree = await readFrom(database, (manager) => findTree(manager, tenantId));
    if (!tree) throw new FairleadError('INTERNAL', `the audit tree of ${tenantId} went away`);
    const { incarnation, size, root } = last;
    const first = { size: tree.size, root: tree.root.toString('base64') };
    const signed = await this.rpc.call(keysRpc.beginAuditLogAnew, tenantId, {
      after: { incarnation, size, root },
      first,
      by,
    });
    await inTransaction(database, async (manager) => {
      const now = await lockTree(manager, tenantId);
      if (now.incarnation === signed.incarnation)
        await saveTree(manager, { ...now, signedSize: Math.max(now.signedSize, signed.size) });
    });
    return signed;
  }
}
