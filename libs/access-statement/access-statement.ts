import { AccessRule } from '@fairlead/access-rules';
import { FairleadError } from '@fairlead/errors';
import { z } from 'zod';

/** Of the JSON that is signed. */
export const MAX_STATEMENT_BYTES = 16_384;
export const MAX_RULES = 64;
export const MAX_TENANT = 63;
export const MAX_USER = 256;
/** How far a clock may be behind that of who signed. */
export const CLOCK_LEEWAY_MS = 60_000;
const MINUTE_MS = 60_000;
/** How long new connections may be opened by the statement of a person or of a program that showed a token of an issuer. */
export const MAX_LOGIN_STATEMENT_MS = 60 * MINUTE_MS;
/** The same for one beside an API token, which nobody renews. */
export const MAX_TOKEN_STATEMENT_MS = 90 * 24 * 60 * MINUTE_MS;

/** Printable, because it becomes a header. */
export const NAME = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/;
/** Users whom only the cluster makes. */
export const OF_KUBERNETES = /^system:/i;

/**
 * Who somebody is in one cluster, and what they may do there until when. Rules are those that meant this cluster when it was signed; a grant that
 * ends earlier than the others bounds them all.
 */
export const AccessStatement = z.strictObject({
  version: z.literal(1),
  tenantId: z.string().min(1).max(MAX_TENANT),
  clusterId: z.uuid(),
  /** Of the token whose secret it goes with. */
  tokenId: z.uuid(),
  kind: z.enum(['administrator', 'token', 'login', 'workload']),
  user: z
    .string()
    .min(1)
    .max(MAX_USER)
    .regex(NAME)
    .refine((user) => !OF_KUBERNETES.test(user), 'nobody is of the system: family'),
  rules: z.array(AccessRule).max(MAX_RULES),
  /** When it was signed, about. */
  notBefore: z.iso.datetime(),
  /** No connection begins after it. */
  openUntil: z.iso.datetime(),
  /** What runs is ended then. */
  streamsUntil: z.iso.datetime(),
  /** Names it in logs and, when it is revoked, in lists. */
  serial: z.uuid(),
});
export type AccessStatement = z.infer<typeof AccessStatement>;

/** The times of a statement, in milliseconds since the epoch. */
export interface StatementLife {
  readonly notBeforeMs: number;
  readonly openUntilMs: number;
  readonly streamsUntilMs: number;
}

/** Throws INVALID_ARGUMENT for times that no statement of this kind may have: neither who signs nor who opens takes more. */
export function lifeOf({ kind, notBefore, openUntil, streamsUntil }: AccessStatement): StatementLife {
  const renewed = kind === 'login' || kind === 'workload';
  const mostMs = renewed ? MAX_LOGIN_STATEMENT_MS : MAX_TOKEN_STATEMENT_MS;
  const [fromMs, openMs, streamsMs] = [Date.parse(notBefore), Date.parse(openUntil), Date.parse(streamsUntil)];
  if (openMs <= fromMs) throw invalid('it ends before it begins');
  if (openMs - fromMs > mostMs + CLOCK_LEEWAY_MS) {
    throw invalid(`one of the kind ${kind} opens connections for ${mostMs / MINUTE_MS} minutes at most`);
  }
  if (streamsMs < openMs || streamsMs - fromMs > MAX_TOKEN_STATEMENT_MS + CLOCK_LEEWAY_MS) {
    throw invalid('what runs by it does not end between its end and 90 days');
  }
  return { notBeforeMs: fromMs, openUntilMs: openMs, streamsUntilMs: streamsMs };
}

function invalid(why: string): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', `this is no access statement: ${why}`);
}
