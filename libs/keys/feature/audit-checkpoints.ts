import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { AuditTree, AuditTreeSigned, AuditTreeToSign, Caller, SignedAuditTree } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { appendEvent, createEvent } from '@fairlead/events';
import { inTransaction, readFrom } from '@fairlead/persistence';
import { noteSigner, signCheckpoint, verifierKey, verifyConsistency } from '@fairlead/transparency-log';
import type { DataSource, EntityManager } from 'typeorm';
import { sealedContext } from '../domain/sealed-context.js';
import { findAuditLog, lockAuditLog, saveAuditLog, type StoredAuditLog } from '../store/audit-log-store.js';
import type { CheckpointFiles } from './checkpoint-files.js';
import type { CurrentCa } from './current-ca.js';

interface Options {
  readonly database: DataSource;
  readonly source: Caller;
  readonly ca: Pick<CurrentCa, 'sealer' | 'trustDomain' | 'now'>;
  /** Where checkpoints are outside the database. Where they are, they count, and not what the database says: it may have been restored, or changed. */
  readonly files?: CheckpointFiles | undefined;
}

/** A new log begins as this one does. */
const NOTHING = { incarnation: 1, size: 0 } as const;

/**
 * Signs what a tenant's audit log holds, and only what goes on from what was signed before: whoever changes or takes away a record that a checkpoint
 * was of gets no signature for it, whatever else they may write. The key of each log is for this alone.
 */
export class AuditCheckpoints {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  /** What was signed last; null: nothing yet. */
  async last(tenantId: string): Promise<SignedAuditTree | null> {
    return this.#last(tenantId, await readFrom(this.#options.database, (manager) => findAuditLog(manager, tenantId)));
  }

  /** In the files first: they are written before the database commits, so that they are never behind it by themselves. */
  async #last(tenantId: string, held: StoredAuditLog | null): Promise<SignedAuditTree | null> {
    const written = await this.#options.files?.last(tenantId);
    return written ?? (held && this.#shown(held));
  }

  /** CONFLICT for a tree of which the proof does not show that it goes on from the one that was signed last: records were changed, or taken away. */
  async sign(tenantId: string, asked: AuditTreeToSign): Promise<AuditTreeSigned> {
    return this.#signing(tenantId, async (manager, held) => {
      const last = await this.#last(tenantId, held);
      const { incarnation, size } = last ?? NOTHING;
      if (asked.incarnation !== incarnation || asked.from !== size) {
        if (last) return { signed: false, tree: last };
        throw new FairleadError(
          'CONFLICT',
          `nothing of the audit log of ${tenantId} was signed yet: it begins with an empty tree`,
        );
      }
      if (last) requireConsistent(tenantId, last, asked);
      requireKey(tenantId, last, held);
      return { signed: true, tree: await this.#sign(manager, tenantId, held, asked) };
    });
  }

  /**
   * Signs the first tree of a log that takes the place of one which cannot go on, and tells so: its database was restored to an earlier point. `after` is what
   * was signed last, as the caller was told; CONFLICT for another.
   */
  async beginAnew(
    tenantId: string,
    after: AuditTree,
    first: Pick<AuditTree, 'size' | 'root'>,
    by: string,
  ): Promise<SignedAuditTree> {
    const { source, ca } = this.#options;
    const begun = await this.#signing(tenantId, async (manager, held) => {
      const last = await this.#last(tenantId, held);
      const { incarnation, size, root } = after;
      if (!last || last.incarnation !== incarnation || last.size !== size || last.root !== root) {
        throw new FairleadError('CONFLICT', `the audit log of ${tenantId} was not signed last at ${size} records`);
      }
      const tree = await this.#sign(manager, tenantId, held, { ...first, incarnation: incarnation + 1 });
      const event = {
        tenantId,
        subject: `audit-log/${tenantId}`,
        actor: { kind: 'user', id: by } as const,
        reason: 'CONFLICT',
        origin: tree.origin,
        lastNote: last.note,
      };
      await appendEvent(manager, createEvent(source, 'dev.fairlead.audit-log.begun-anew.v1', event, ca.now()));
      return { signed: true, tree };
    });
    return begun.tree;
  }

  /**
   * Of a log that has a key, files are written before the commit: where that fails, what is there was signed, and nobody has it yet. Of one that gets its key
   * now, after it: a file of a key that nobody has would stand in the way of every signature to come. Where that one is not written, the next one is.
   */
  async #signing<T extends AuditTreeSigned>(
    tenantId: string,
    sign: (manager: EntityManager, held: StoredAuditLog | null) => Promise<T>,
  ): Promise<T> {
    let isFirst = false;
    const signed = await inTransaction(this.#options.database, async (manager) => {
      const held = await lockAuditLog(manager, tenantId);
      isFirst = held === null;
      const made = await sign(manager, held);
      if (made.signed && !isFirst) await this.#options.files?.write(tenantId, made.tree);
      return made;
    });
    if (signed.signed && isFirst) await this.#options.files?.write(tenantId, signed.tree);
    return signed;
  }

  async #sign(
    manager: EntityManager,
    tenantId: string,
    held: StoredAuditLog | null,
    tree: AuditTree,
  ): Promise<SignedAuditTree> {
    const { incarnation, size, root } = tree;
    const origin = this.#origin(tenantId, incarnation);
    const { key, sealedKey } = held ? await this.#openKey(held) : await this.#makeKey(tenantId);
    const note = await signCheckpoint({ origin, size, root: Buffer.from(root, 'base64') }, [noteSigner(origin, key)]);
    const stored: StoredAuditLog = {
      tenantId,
      incarnation,
      size,
      root,
      sealedKey,
      note: note.toString('utf8'),
      verifierKey: verifierKey(origin, 'ed25519', createPublicKey(key)),
      signedAt: this.#options.ca.now(),
    };
    await saveAuditLog(manager, stored);
    return this.#shown(stored);
  }

  async #openKey({ tenantId, sealedKey }: StoredAuditLog): Promise<{ key: KeyObject; sealedKey: Buffer }> {
    const pem = await this.#options.ca.sealer.unseal(sealedKey, sealedContext.auditLog(tenantId));
    return { key: createPrivateKey(pem), sealedKey };
  }

  async #makeKey(tenantId: string): Promise<{ key: KeyObject; sealedKey: Buffer }> {
    const { privateKey: key } = generateKeyPairSync('ed25519');
    const pem = key.export({ type: 'pkcs8', format: 'pem' }).toString();
    return { key, sealedKey: await this.#options.ca.sealer.seal(pem, sealedContext.auditLog(tenantId)) };
  }

  #shown({ tenantId, incarnation, size, root, note, verifierKey: key }: StoredAuditLog): SignedAuditTree {
    return { incarnation, size, root, note, verifierKey: key, origin: this.#origin(tenantId, incarnation) };
  }

  /** Without a scheme, as C2SP tlog-checkpoint has it; another one where the tree does not go on. */
  #origin(tenantId: string, incarnation: number): string {
    const suffix = incarnation === 1 ? '' : `/${incarnation}`;
    return `${this.#options.ca.trustDomain}/audit/${tenantId}${suffix}`;
  }
}

/** The key went with what the database lost, or was changed there: a log of another key begins anew. */
function requireKey(tenantId: string, last: SignedAuditTree | null, held: StoredAuditLog | null): void {
  if (!last) return;
  const isKnown = held?.incarnation !== last.incarnation || held.verifierKey === last.verifierKey;
  if (held && isKnown) return;
  throw new FairleadError(
    'CONFLICT',
    `the database does not have the key that signed the audit log of ${tenantId}, ${last.verifierKey}: it was restored to an earlier point, or changed`,
  );
}

function requireConsistent(
  tenantId: string,
  held: Pick<AuditTree, 'size' | 'root'>,
  { size, root, proof }: AuditTreeToSign,
): void {
  const bytes = (hash: string): Buffer => Buffer.from(hash, 'base64');
  const claim = { oldSize: held.size, oldRoot: bytes(held.root), newSize: size, newRoot: bytes(root) };
  if (verifyConsistency(claim, proof.map(bytes))) return;
  throw new FairleadError(
    'CONFLICT',
    `the audit log of ${tenantId} with ${size} records does not go on from the one of ${held.size} that was signed: records were changed or taken away`,
  );
}
