import { z } from 'zod';
import { CredentialName, DEFAULT_TENANT, IsoTime, NO_TENANT, TenantId, UserName } from './primitives.js';
import { HandshakesRefused, RulesInForce } from './audit-own-records.js';
import { PassageKind } from './open-passages.js';

/** Subject of what a replica's audit spool hands on; only the holder of that credential may publish there. */
export function auditSubject(producer: string): string {
  return `fairlead.audit.${producer}`;
}

const MAX_GRANTS = 8;
const MAX_GROUPS = 32;
const groups = z.array(z.string().max(256)).max(MAX_GROUPS).default([]);
const text = (max: number) => z.string().max(max);

/** What a request asked a kube-apiserver for, as that reads it. */
const AuditedResource = z.object({
  /** As it was decided about: of exec, attach, port-forward and proxy `create`, whatever the method. */
  verb: text(64),
  apiGroup: text(253),
  resource: text(253),
  subresource: text(253),
  namespace: text(253),
  name: text(253),
});
/** Of a request that names no resource; without its query, which may hold a secret. */
const AuditedUrl = z.object({ verb: text(64), path: text(1_024) });

/** A shell, a port-forward or another request to upgrade. */
const AuditedStream = z.object({
  protocol: text(64),
  container: text(253),
  /** Of exec; cut, if `commandCut`. */
  command: z.array(text(256)).max(32),
  commandCut: z.boolean(),
  stdin: z.boolean(),
  tty: z.boolean(),
});

/**
 * One passage through a door. `intent`: it is about to be let go on; `outcome`: it is over, whether or not it was let go on. Never a body or a secret, of headers
 * only the user agent, and of a query only what Kubernetes itself reads. What has a default came later than the rest: gateways before did not say so.
 */
export const AuditedPassage = z.object({
  phase: z.enum(['intent', 'outcome']),
  /** Of the passage: an intent and its outcome share it. */
  id: z.uuid(),
  /** When it began; of an outcome, `durationMs` before it was over. */
  at: IsoTime,
  tenantId: z.union([TenantId, z.literal(NO_TENANT)]),
  door: text(32),
  kind: PassageKind,
  address: text(64),
  traceId: text(32),
  /** The replica that it came to. */
  ingress: text(63).default(''),
  /** Who holds the agent's link; null: nobody was reached. */
  owner: CredentialName.nullable(),
  /** Of the agent's link. Where that is to another replica, the only one that this one knew of there; empty: there were several, or nobody was reached. */
  session: text(64).default(''),
  clusterId: z.uuid().nullable(),
  /** As it was asked for, whether or not there is one. */
  cluster: text(253),
  /** Null: nobody had proved who asks. */
  identity: z
    .object({
      kind: z.enum(['user', 'client', 'agent']),
      name: UserName,
      /** That they are in, as their issuer or an administrator says; cut, if `groupsCut`. */
      groups,
      groupsCut: z.boolean().default(false),
      /** Of a person's login, which its tokens share; empty: it is none. */
      session: text(64).default(''),
      /** The id of a token or the serial number of a certificate, never either itself. */
      proof: z.object({ kind: z.enum(['token', 'certificate']), id: text(128), of: text(32) }),
    })
    .nullable(),
  /** The user that the cluster sees, if it is not who asks; empty: it is. */
  as: text(256),
  /** The groups that go with `as`, as they were asked for (`kubectl --as-group`); cut, if `asGroupsCut`. */
  asGroups: groups,
  asGroupsCut: z.boolean().default(false),
  /** What the decision stands on; none: the administrator's token, or nothing is granted. Cut, if `grantIdsCut`. */
  grantIds: z.array(z.uuid()).max(MAX_GRANTS),
  grantIdsCut: z.boolean().default(false),
  method: text(16),
  /** Path and query below the cluster's host; of parameters that are none of Kubernetes' without their values. Cut to 2,048 characters. */
  requestUri: text(2_048).default(''),
  /** As it calls itself. */
  userAgent: text(256).default(''),
  resource: AuditedResource.nullable(),
  url: AuditedUrl.nullable(),
  /** `host:port`; empty: none. */
  target: text(300),
  stream: AuditedStream.nullable(),
  decision: z.enum(['allowed', 'refused']),
  /** As who asked saw it; 0 of an intent. */
  status: z.int().min(0).max(999),
  /** COMPLETE, or the code of what refused or broke it; OPEN of an intent. */
  cause: text(64),
  bytesUp: z.int().min(0),
  bytesDown: z.int().min(0),
  durationMs: z.int().min(0),
});
export type AuditedPassage = z.infer<typeof AuditedPassage>;

/** In one record of what was lost; of more, there are more of these. */
export const MAX_LOST_NAMED = 64;

/** Passages that this replica counted and did not keep one by one. `records`: there was no room, or nothing to write on, and nobody knows of which tenants they were. `refusals`: it refused too many of one user, or of those who proved nothing. */
export const LostPassages = z.object({
  phase: z.literal('lost'),
  at: IsoTime,
  tenantId: z.union([TenantId, z.literal(NO_TENANT)]).default(DEFAULT_TENANT),
  count: z.int().min(1),
  why: text(256),
  /** Of those that were lost, passages that are over and of which an intent may be on record: nobody tells any more how they ended. A gateway may not know all of them. */
  passages: z.array(z.uuid()).max(MAX_LOST_NAMED).optional(),
  what: z.enum(['records', 'refusals']).default('records'),
  /** Whose they were, of refusals; empty: of those who proved nothing, or of nobody in particular. */
  user: text(256).default(''),
});
export type LostPassages = z.infer<typeof LostPassages>;

export const AuditRecord = z.discriminatedUnion('phase', [
  AuditedPassage,
  LostPassages,
  RulesInForce,
  HandshakesRefused,
]);
export type AuditRecord = z.infer<typeof AuditRecord>;

/** Does it tell of one passage? */
export function isPassage(record: AuditRecord): record is AuditedPassage {
  return record.phase === 'intent' || record.phase === 'outcome';
}

export const MAX_AUDIT_BATCH = 200;

/**
 * Records in the order that a spool numbered them, without a hole within. Numbers of an epoch begin with 1 and go up by one: so its reader knows that
 * none is missing, and drops what comes twice. The producer is the subject's, which NATS vouches for.
 */
export const AuditBatch = z.object({
  /** Made anew whenever a spool begins without what it had: 32 hexadecimal digits. */
  epoch: z.string().regex(/^[0-9a-f]{32}$/),
  firstSeq: z.int().min(1),
  /** None of the last batch, as it may be. */
  records: z.array(AuditRecord).max(MAX_AUDIT_BATCH),
  /** The gateway stopped, and its spool has nothing that it did not hand on: if another epoch follows this one, nothing was lost between them. */
  ends: z.literal(true).optional(),
});
export type AuditBatch = z.infer<typeof AuditBatch>;
