import { z } from 'zod';
import { IsoTime, UserName } from './primitives.js';
import { rpcOf } from './rpc.js';

/** SHA-256, base64. */
const TreeHash = z.base64().length(44);
const TreeSize = z.int().min(0);
/** Of a tree that fits 2^53 records, with room. */
const MAX_PROOF = 64;

/** One tree of one tenant. `incarnation` goes up by one where a log could not go on, because its database had lost its newest records. */
export const AuditTree = z.object({ incarnation: z.int().min(1), size: TreeSize, root: TreeHash });
export type AuditTree = z.infer<typeof AuditTree>;

/** What `keys` signed last of a tenant's audit log. */
export const SignedAuditTree = AuditTree.extend({
  /** First line of each checkpoint, and name of its key. */
  origin: z.string().min(1).max(512),
  /** What others verify checkpoints by (C2SP signed-note). */
  verifierKey: z.string().min(1).max(1_024),
  /** The checkpoint itself (C2SP tlog-checkpoint). */
  note: z.string().min(1).max(4_096),
});
export type SignedAuditTree = z.infer<typeof SignedAuditTree>;

/** Asks to sign a tree; `proof` shows that the one of `from` records, which `keys` signed last, is its beginning (RFC 6962, 2.1.2). */
export const AuditTreeToSign = AuditTree.extend({ from: TreeSize, proof: z.array(TreeHash).max(MAX_PROOF) });
export type AuditTreeToSign = z.infer<typeof AuditTreeToSign>;

/** `signed` false: the proof is from another tree than the one that was signed last, which is this one. */
export const AuditTreeSigned = z.object({ signed: z.boolean(), tree: SignedAuditTree });
export type AuditTreeSigned = z.infer<typeof AuditTreeSigned>;

/** What an entry of the log was made of: its leaf is a commitment to both. Null: they were erased, or are older than what is kept. */
export const AuditEvidence = z.object({
  number: z.int().min(1),
  /** Byte for byte. */
  body: z.string().nullable(),
  nonce: TreeHash.nullable(),
});
export type AuditEvidence = z.infer<typeof AuditEvidence>;

export const MAX_AUDIT_EVIDENCE = 200;
/** Of C2SP tlog-tiles. */
export const AuditTilePath = z.string().min(1).max(128);

export const MAX_AUDIT_WITNESSES = 32;
/** Of each log, so many checkpoints are kept with what witnesses put below them: the newest. */
export const MAX_COSIGNED_CHECKPOINTS = 8;

/**
 * What a witness did the last time that it was asked to cosign the log. `cosigned`; `refused`: it answered that it does not, and `why`; `away`: it gave no answer that makes
 * sense; `new`: it was never asked.
 */
export const AuditWitness = z.object({
  name: z.string().max(1_024),
  /** C2SP signed-note. */
  verifierKey: z.string().min(1).max(1_024),
  state: z.enum(['new', 'cosigned', 'refused', 'away']),
  why: z.string().max(512),
  /** Of the newest checkpoint that it cosigned; 0: of none. */
  size: TreeSize,
  cosignedAt: IsoTime.nullable(),
  askedAt: IsoTime.nullable(),
});
export type AuditWitness = z.infer<typeof AuditWitness>;

/** A checkpoint with the lines of witnesses below that of the log (C2SP tlog-cosignature). */
export const CosignedCheckpoint = z.object({ size: TreeSize, checkpoint: z.string().min(1).max(65_536) });
export type CosignedCheckpoint = z.infer<typeof CosignedCheckpoint>;

export const AuditWitnesses = z.object({
  witnesses: z.array(AuditWitness).max(MAX_AUDIT_WITNESSES),
  /** The largest first. */
  checkpoints: z.array(CosignedCheckpoint).max(MAX_COSIGNED_CHECKPOINTS),
});
export type AuditWitnesses = z.infer<typeof AuditWitnesses>;

/** The first tree of a log that takes the place of one that could not go on, and what was signed last of that. */
export const BegunAnew = z.object({
  tree: SignedAuditTree,
  previous: SignedAuditTree.pick({ origin: true, size: true }),
});
export type BegunAnew = z.infer<typeof BegunAnew>;

const rpc = rpcOf('audit');

/** The tenant's transparency log, as the audit service keeps it. */
export const auditLogRpc = {
  /** NOT_FOUND; INVALID_ARGUMENT for what is no path of a tile. Shorter than the path says, or damaged, if it is so in the database. */
  tile: rpc('tile', ['api'], z.object({ path: AuditTilePath }), z.object({ bytes: z.base64().max(262_144) })),
  /** Of entries with a number above `after`, in their order, as many as fit; `next` is where to go on, `size` the newest number. */
  evidence: rpc(
    'evidence',
    ['api'],
    z.object({ after: z.int().min(0) }),
    z.object({ records: z.array(AuditEvidence).max(MAX_AUDIT_EVIDENCE), next: z.int().min(0), size: z.int().min(0) }),
    8_000,
  ),
  /** Which witnesses are asked to cosign the log, and what they cosigned. */
  witnesses: rpc('witnesses', ['api'], z.object({}), AuditWitnesses),
  /**
   * A log that cannot go on begins anew, under another origin, with the entries that are left and one that links what was signed last. NOT_FOUND; CONFLICT where it goes on, unless `force`. What
   * failed may be asked for again.
   */
  beginAnew: rpc('begin-anew', ['api'], z.object({ by: UserName, force: z.boolean() }), BegunAnew, 20_000),
} as const;
