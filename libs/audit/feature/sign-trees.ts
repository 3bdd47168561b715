import { keysRpc, type AuditTreeSigned, type SignedAuditTree } from '@fairlead/contracts';
import { FairleadError, messageOf } from '@fairlead/errors';
import { RunLoop } from '@fairlead/loop';
import type { RpcClient } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import { inTransaction, readFrom } from '@fairlead/persistence';
import { proveConsistency } from '@fairlead/transparency-log';
import type { DataSource } from 'typeorm';
import { StoredTiles } from '../store/tile-store.js';
import { unlessSomebodySigns } from '../store/signing-lock.js';
import { findTree, lockTree, saveTree, treesToSign, type StoredTree } from '../store/tree-store.js';

interface Options {
  readonly database: DataSource;
  /** Of `keys`. */
  readonly rpc: RpcClient;
  readonly logger: Logger;
  /** How soon a record is in a checkpoint, at the latest. */
  readonly everyMs: number;
}

/** Has `keys` sign what the logs hold, after it was committed. Created running; dispose of it to stop. */
export function signTrees(options: Options): RunLoop {
  const { database, logger, everyMs } = options;
  return new RunLoop({
    intervalMs: everyMs,
    work: async () => {
      for (const { tenantId } of await readFrom(database, treesToSign)) await signOne(options, tenantId);
    },
    onFailed: (error) => logger.warn('audit_log.not_signed', { reason: messageOf(error) }),
  });
}

/** A log that cannot be signed keeps no other tenant's from it. Nothing is asked while another replica asks, or the log begins anew: that names what was signed last. */
async function signOne(options: Options, tenantId: string): Promise<void> {
  const { database, rpc, logger } = options;
  let size = 0;
  try {
    await unlessSomebodySigns(database, tenantId, async () => {
      // As it is by now: whoever was here before may have signed it, or begun it anew.
      const tree = await readFrom(database, (manager) => findTree(manager, tenantId));
      size = tree?.size ?? 0;
      if (tree && tree.size > tree.signedSize) await keep(database, tenantId, await signed(rpc, database, tree));
    });
  } catch (error) {
    const isConflict = error instanceof FairleadError && error.code === 'CONFLICT';
    const reason = messageOf(error);
    // What was signed is not what is here: somebody changed it, or the database was restored. It does not mend itself.
    logger.log(isConflict ? 'error' : 'warn', 'audit_log.not_signed', { tenantId, size, reason });
  }
}

/** CONFLICT where the log does not go on from what `keys` signed last. */
async function signed(rpc: RpcClient, database: DataSource, tree: StoredTree): Promise<SignedAuditTree> {
  const first = await askToSign(rpc, database, tree, tree.signedSize);
  if (first.signed) return first.tree;
  // It was signed, and the answer did not come here: the proof has to be from there.
  const { incarnation, size } = first.tree;
  if (incarnation === tree.incarnation - 1 && tree.signedSize === 0) {
    const what = `the audit log of ${tree.tenantId} is about to begin anew`;
    throw new FairleadError('CONFLICT', `${what}, and it was not finished: fairlead audit begin-anew, once more`);
  }
  if (incarnation !== tree.incarnation || size > tree.size) {
    const why = `${size} records of it were signed, and ${tree.size} are there: the database was restored to an earlier point, or somebody took records away`;
    throw new FairleadError('CONFLICT', `the audit log of ${tree.tenantId} has lost records: ${why}`);
  }
  const second = await askToSign(rpc, database, tree, size);
  if (second.signed) return second.tree;
  throw new FairleadError('UNAVAILABLE', `another replica signs the audit log of ${tree.tenantId}`);
}

async function askToSign(
  rpc: RpcClient,
  database: DataSource,
  tree: StoredTree,
  from: number,
): Promise<AuditTreeSigned> {
  const { tenantId, incarnation, size, root } = tree;
  const proof = await readFrom(database, (manager) => proveConsistency(new StoredTiles(manager, tree), from, size));
  const asked = { incarnation, size, root: base64(root), from, proof: proof.map(base64) };
  return rpc.call(keysRpc.signAuditTree, tenantId, asked);
}

/** Replicas sign at once: what is known to be signed never goes down. */
async function keep(database: DataSource, tenantId: string, signedTree: SignedAuditTree): Promise<void> {
  await inTransaction(database, async (manager) => {
    const tree = await lockTree(manager, tenantId);
    const { incarnation, size: signedSize } = signedTree;
    if (tree.incarnation === incarnation && tree.signedSize < signedSize)
      await saveTree(manager, { ...tree, signedSize });
  });
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
