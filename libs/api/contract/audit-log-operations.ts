import {
  AuditEvidence,
  AuditTilePath,
  AuditWitness as Witness,
  AuditWitnesses,
  CosignedCheckpoint as Cosigned,
  MAX_AUDIT_WITNESSES,
  MAX_COSIGNED_CHECKPOINTS,
  SignedAuditTree,
  TenantId,
} from '@fairlead/contracts';
import { z } from 'zod';
import { json, operationsOf } from './operation.js';

const shape = SignedAuditTree.shape;
export const AuditLogHead = z.object({
  origin: shape.origin.describe(
    'Which log it is: the first line of its checkpoints, and the name of the key that signs them.',
  ),
  verifierKey: shape.verifierKey.describe('That key, as tools for signed notes take it (C2SP signed-note).'),
  incarnation: shape.incarnation.describe(
    'More than 1: an earlier log of this tenant could not go on, since its database had lost its newest records.',
  ),
  size: shape.size.describe('How many entries the checkpoint is of.'),
  checkpoint: shape.note.describe('The checkpoint (C2SP tlog-checkpoint).'),
});

export const AuditTile = z.object({ bytes: z.base64().describe('The tile or entry bundle itself.') });
const AuditTileQuery = z.strictObject({
  path: AuditTilePath.describe('As C2SP tlog-tiles has it, such as tile/0/x001/067 or tile/entries/000.p/17.'),
});

export const AuditEvidenceItem = AuditEvidence.describe(
  'What an entry was made of. SHA-256 over nonce and body is the commitment in its leaf; both are null once they were erased.',
);
export const AuditEvidenceList = z.object({
  records: z
    .array(AuditEvidenceItem)
    .max(200)
    .describe('In the order of their numbers. Those that are older than what is kept are left out.'),
  next: z.int().min(0).describe('Where to go on, as `after`.'),
  size: z.int().min(0).describe('The newest number: once `next` is as much, all was read.'),
});
const AuditEvidenceQuery = z.strictObject({
  after: z.coerce
    .number()
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .default(0)
    .describe('Only entries with a higher number.'),
});

export const AuditWitness = Witness.describe('A witness that is asked to cosign the log, and what it made of it.');
export const CosignedCheckpoint = Cosigned.describe(
  'A checkpoint with the lines of witnesses below that of the log (C2SP tlog-cosignature).',
);
export const AuditWitnessList = AuditWitnesses.extend({
  witnesses: z.array(AuditWitness).max(MAX_AUDIT_WITNESSES),
  checkpoints: z
    .array(CosignedCheckpoint)
    .max(MAX_COSIGNED_CHECKPOINTS)
    .describe('The newest that anybody cosigned, the largest first.'),
});

const BeginAnew = z.strictObject({
  force: z
    .boolean()
    .default(false)
    .describe('Also where the log goes on from what was signed of it: witnesses may have seen another one.'),
});
export const AuditLogBegunAnew = AuditLogHead.extend({
  previous: z
    .object({ origin: shape.origin, size: shape.size })
    .describe('The log before: how many of its entries were signed.'),
});

/** What the audit log is verified by, without believing the server. */
export const auditLogOperations = operationsOf('audit', {
  getAuditLog: {
    route: 'GET /v1/audit/log',
    summary: 'Show the newest signed checkpoint of the audit log',
    auth: 'auditor',
    description: 'NOT_FOUND until the first entry was signed, a few seconds after it was recorded.',
    answers: [json(200, 'The checkpoint.', AuditLogHead)],
    errors: ['NOT_FOUND'],
  },
  getAuditTile: {
    route: 'GET /v1/audit/log/tile',
    summary: 'Get a tile of the audit log',
    auth: 'auditor',
    query: AuditTileQuery,
    answers: [json(200, 'The tile.', AuditTile)],
    errors: ['NOT_FOUND'],
  },
  listAuditEvidence: {
    route: 'GET /v1/audit/log/evidence',
    summary: 'List what entries of the audit log were made of',
    auth: 'auditor',
    query: AuditEvidenceQuery,
    answers: [json(200, 'Bodies and nonces.', AuditEvidenceList)],
  },
  listAuditWitnesses: {
    route: 'GET /v1/audit/log/witnesses',
    summary: 'List which witnesses cosigned the audit log, and what they cosigned',
    auth: 'auditor',
    description: 'Witnesses are told of here by the server: verify what they signed by keys that you have from them.',
    answers: [json(200, 'Witnesses and cosigned checkpoints.', AuditWitnessList)],
  },
  beginAuditLogAnew: {
    route: 'POST /v1/tenants/{name}/audit-log/begin-anew',
    summary: 'Let an audit log that cannot go on begin anew',
    description:
      'It gets another origin, keeps the entries that are left, and an entry of it links the checkpoint that was signed last. CONFLICT where it can go on.',
    auth: 'installation',
    params: z.object({ name: TenantId }),
    body: BeginAnew,
    answers: [json(200, 'The first checkpoint.', AuditLogBegunAnew)],
    errors: ['NOT_FOUND', 'CONFLICT'],
    answersWithinMs: 20_000,
  },
});
