import { FairleadError } from '@fairlead/errors';
import { z } from 'zod';
import { MAX_STATEMENT_BYTES, type AccessStatement } from './access-statement.js';

/** Of the JSON that is signed. */
export const MAX_REVOCATIONS_BYTES = MAX_STATEMENT_BYTES;
/** Entries of a list. */
export const MAX_REVOKED = 400;
/** Clusters that are locked down by name, and those that require statements. */
export const MAX_LOCKED = 100;
export const MAX_REQUIRED = 100;

/**
 * `token`, `administrator`: every statement of this token; `grant`: every one with a rule of this grant. `user`: those of this user that were signed at this time or
 * before; `logins`: the same of everybody who logged in, people and programs, and whose name begins so.
 */
export const RevokedStatements = z.object({
  kind: z.string().min(1).max(32),
  value: z.string().max(256),
  before: z.iso.datetime(),
});
export type RevokedStatements = z.infer<typeof RevokedStatements>;

/**
 * Which statements of a tenant are worth nothing before their end, and which of its clusters take nobody without one. Of two the one with the higher number counts.
 * What a reader does not know of it is left out: what it knows still ends something.
 */
export const StatementRevocations = z.object({
  version: z.literal(1),
  tenantId: z.string().min(1).max(63),
  number: z.int().min(1),
  /** When it was made, by the clock of who decides: of the same number, it tells one list from another. */
  issuedAt: z.iso.datetime(),
  /** All statements but the administrator's that were signed at this time or before; null: none. */
  floor: z.iso.datetime().nullable(),
  revoked: z.array(RevokedStatements).max(MAX_REVOKED),
  /** Clusters that only the administrator gets into. */
  locked: z.union([z.literal('all'), z.array(z.uuid()).max(MAX_LOCKED)]),
  /** Clusters whose agents serve nobody without a statement. */
  required: z.union([z.literal('all'), z.array(z.uuid()).max(MAX_REQUIRED)]).default([]),
});
export type StatementRevocations = z.infer<typeof StatementRevocations>;

/** As bytes to be signed. Throws INVALID_ARGUMENT for what nobody would read. */
export function writeStatementRevocations(revocations: StatementRevocations): Uint8Array {
  const document = Buffer.from(JSON.stringify(StatementRevocations.parse(revocations)));
  if (document.length <= MAX_REVOCATIONS_BYTES) return document;
  throw new FairleadError(
    'INVALID_ARGUMENT',
    `the list of revocations has ${document.length} bytes, of ${MAX_REVOCATIONS_BYTES}`,
  );
}

/** Throws INVALID_ARGUMENT for what is none. */
export function readStatementRevocations(document: Uint8Array): StatementRevocations {
  try {
    return StatementRevocations.parse(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(document)));
  } catch (cause) {
    throw new FairleadError('INVALID_ARGUMENT', 'this is no list of revoked access statements', { cause });
  }
}

/** What a statement is looked up by: made once for each list. */
export class RevokedIndex {
  readonly #required: ReadonlySet<string> | 'all';
  readonly #tokens: ReadonlySet<string>;
  readonly #grants: ReadonlySet<string>;
  readonly #times: readonly RevokedStatements[];
  readonly #locked: ReadonlySet<string> | 'all';
  readonly #floorMs: number;

  constructor({ revoked, locked, required, floor }: StatementRevocations) {
    this.#required = required === 'all' ? required : new Set(required);
    const valuesOf = (kind: string): Set<string> =>
      new Set(revoked.flatMap((entry) => (entry.kind === kind ? [entry.value] : [])));
    this.#tokens = new Set([...valuesOf('token'), ...valuesOf('administrator')]);
    this.#grants = valuesOf('grant');
    this.#times = revoked.filter(({ kind }) => kind === 'user' || kind === 'logins');
    this.#locked = locked === 'all' ? locked : new Set(locked);
    this.#floorMs = floor === null ? Number.NEGATIVE_INFINITY : Date.parse(floor);
  }

  /** Does this cluster take nobody without a statement? */
  requires(clusterId: string): boolean {
    return this.#required === 'all' || this.#required.has(clusterId);
  }

  /** Why the statement is worth nothing; null: it is not revoked. */
  whyRevoked(statement: AccessStatement): string | null {
    const { kind, tokenId, rules, notBefore, clusterId } = statement;
    if (this.#tokens.has(tokenId)) return 'its token was revoked';
    if (kind === 'administrator') return null;
    if (this.#locked === 'all' || this.#locked.has(clusterId)) return 'the cluster is locked down';
    if (rules.some(({ grantId }) => this.#grants.has(grantId))) return 'a grant that it was signed by has ended';
    const signedMs = Date.parse(notBefore);
    const isOld = signedMs <= this.#floorMs || this.#times.some((entry) => means(entry, statement, signedMs));
    return isOld ? 'what its user may do has changed since it was signed' : null;
  }
}

function means({ kind, value, before }: RevokedStatements, statement: AccessStatement, signedMs: number): boolean {
  if (signedMs > Date.parse(before)) return false;
  if (kind === 'user') return statement.user === value;
  return (statement.kind === 'login' || statement.kind === 'workload') && statement.user.startsWith(value);
}
