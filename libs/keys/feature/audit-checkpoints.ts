import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { AuditTree, AuditTreeSigned, AuditTreeToSign, Caller, SignedAuditTree } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { appendEvent, createEvent } from '@fairlead/events';
import type { Logger } from '@fairlead/observability';
import { inTransaction, readFrom } from '@fairlead/persistence';
import {
  noteSigner,
  parseVerifierKey,
  signCheckpoint,
  verifierKey,
  verifyConsistency,
} from '@fairlead/transparency-log';
import type { DataSource, EntityManager } from 'typeorm';
import { lastSigned, type LastSigned, type Remembered } from '../domain/last-signed.js';
import { sealedContext } from '../domain/sealed-context.js';
import { findAuditLog, lockAuditLog, saveAuditLog, type StoredAuditLog } from '../store/audit-log-store.js';
import type { CheckpointFiles } from './checkpoint-files.js';
import type { CurrentCa } from './current-ca.js';

interface Options {
  readonly database: DataSource;
  readonly source: Caller;
  readonly logger: Logger;
  readonly ca: Pick<CurrentCa, 'sealer' | 'trustDomain' | 'now'>;
  /** Where checkpoints are outside the database, which may have been restored, or changed. */
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
  /** By tenant, what was said of how file and database stand to each other. */
  readonly #said = new Map<string, Remembered>();

  constructor(options: Options) {
    this.#options = options;
  }

  /** What was signed last; null: nothing yet. */
  async last(tenantId: string): Promise<SignedAuditTree | null> {
    const held = await readFrom(this.#options.database, (manager) => findAuditLog(manager, tenantId));
    return (await this.#compared(tenantId, held)).tree;
  }

  /** The same, by whoever signs next; where the two places do not agree, that is said. */
  async #last(tenantId: string, held: StoredAuditLog | null): Promise<SignedAuditTree | null> {
    const { tree, remembered } = await this.#compared(tenantId, held);
    this.#say(tenantId, remembered, tree);
    return tree;
  }

  /** Files are written before the database commits, so that they are behind it only where they were restored. */
  async #compared(tenantId: string, held: StoredAuditLog | null): Promise<LastSigned> {
    const stored = held && this.#shown(held);
    const { files } = this.#options;
    if (!files) return { tree: stored, remembered: 'agree' };
    const written = await files.last(tenantId);
    // Its number is signed as a part of the origin alone.
    if (written && !written.origin.endsWith(pathOf(tenantId, written.incarnation))) {
      const what = `the file of the audit log of ${tenantId} has a checkpoint of ${written.origin}`;
      throw new FairleadError('CONFLICT', `${what}, and says that it is number ${written.incarnation}`);
    }
    return lastSigned(written, stored);
  }

  /** Once, until it is something else: a log is signed every few seconds. */
  #say(tenantId: string, remembered: Remembered, tree: SignedAuditTree | null): void {
    const before = this.#said.get(tenantId) ?? 'agree';
    if (remembered === before) return;
    if (remembered === 'agree') {
      this.#said.delete(tenantId);
      return;
    }
    this.#said.set(tenantId, remembered);
    const counts = tree && { origin: tree.origin, size: tree.size };
    const event =
      remembered === 'file-missing' ? 'audit_log.checkpoint_file_missing' : 'audit_log.checkpoints_disagree';
    this.#options.logger.warn(event, { tenantId, found: remembered, ...counts });
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
      if (last && !held) throw otherKey(tenantId, last);
      return { signed: true, tree: await this.#sign(manager, tenantId, held, asked, last) };
    });
  }

  /**
   * Signs the first tree of a log that takes the place of one which cannot go on, and tells so: its database was restored to an earlier point. `after` is what
   * was signed last, as the caller was told; CONFLICT for another, and for one of another key.
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
      // Where it was begun before, and its file not written, that is still the one of the key that was lost.
      const before = held && held.incarnation <= incarnation ? last : null;
      const tree = await this.#sign(manager, tenantId, held, { ...first, incarnation: incarnation + 1 }, before);
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
    /** Of which the key has to be the same; null: of none. */
    last: SignedAuditTree | null,
  ): Promise<SignedAuditTree> {
    const { incarnation, size, root } = tree;
    const origin = this.#origin(tenantId, incarnation);
    const { key, sealedKey } = held ? await this.#openKey(held) : await this.#makeKey(tenantId);
    if (last) requireKey(tenantId, last, key);
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

  #origin(tenantId: string, incarnation: number): string {
    return `${this.#options.ca.trustDomain}${pathOf(tenantId, incarnation)}`;
  }
}

/** Of an origin, which has no scheme, as C2SP tlog-checkpoint has it; another one where the tree does not go on. */
function pathOf(tenantId: string, incarnation: number): string {
  const suffix = incarnation === 1 ? '' : `/${incarnation}`;
  return `/audit/${tenantId}${suffix}`;
}

/** By the key itself, which nobody else can seal: what the database and the file say of it may have been changed. */
function requireKey(tenantId: string, last: SignedAuditTree, key: KeyObject): void {
  const own = parseVerifierKey(verifierKey(last.origin, 'ed25519', key));
  if (!Buffer.from(own.publicKey).equals(parseVerifierKey(last.verifierKey).publicKey)) throw otherKey(tenantId, last);
}

/** The key went with what the database lost, or was changed there: a log of another key begins anew. */
function otherKey(tenantId: string, last: SignedAuditTree): FairleadError {
  return new FairleadError(
    'CONFLICT',
    `the database does not have the key that signed the audit log of ${tenantId}, ${last.verifierKey}: it was restored to an earlier point, or one of the two was changed`,
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
