import {
  decide,
  readAttributes,
  rulesBehind,
  selfReviewOf,
  whyNotAs,
  type AskedIdentity,
} from '@fairlead/access-rules';
import type { VerifiedStatement } from '@fairlead/access-statement';
import { FairleadError } from '@fairlead/errors';
import { assertAcceptable, headerValues, type RawHeaders, type TunnelIdentity } from '@fairlead/kube-http';
import type { ShownStatement } from '@fairlead/tunnel/agent';

/** What a tunnel is served by: what the gateway says of it and, where there is one, what was signed. */
export interface Served {
  readonly identity: TunnelIdentity;
  readonly statement: VerifiedStatement | undefined;
}

/** The same of a tunnel, whose statement may be revoked. */
export interface ServedTunnel extends Served {
  readonly statement: ShownStatement | undefined;
}

/** How one request is to be sent. */
export type RequestPlan =
  | { readonly kind: 'pass'; readonly identity: TunnelIdentity }
  /** It asks what its sender may do: its body has to be read first. */
  | {
      readonly kind: 'review';
      readonly of: 'access' | 'rules';
      readonly statement: VerifiedStatement;
      readonly as: AskedIdentity | null;
    };

export interface AskedOfAgent {
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: RawHeaders;
}

/**
 * Decides one request of a tunnel. With a statement, the gateway's word can narrow what it gives, and nothing else: the user is the statement's, or one whom
 * its rules let them act as, and of the groups that it gives those go that the gateway names too. Throws STATEMENT_EXPIRED, IDENTITY_REFUSED, FORBIDDEN, and
 * INVALID_ARGUMENT for what cannot be read for certain.
 */
export function planRequest({ identity, statement }: Served, asked: AskedOfAgent, nowMs: number): RequestPlan {
  if (!statement) return { kind: 'pass', identity };
  if (nowMs >= statement.openUntilMs) {
    throw new FairleadError(
      'STATEMENT_EXPIRED',
      'the access statement of this connection has ended; a new one is fetched now: run the command again',
    );
  }
  const attributes = readAttributes(asked.method, asked.target, headerValues(asked.rawHeaders, 'content-type'));
  const as = actingAs(identity, statement);
  const review = selfReviewOf(attributes);
  const decision = decide(statement.rules, attributes);
  if (!decision.allowed)
    throw new FairleadError('FORBIDDEN', `the access statement does not hold this request: ${decision.because}`);
  if (review) return { kind: 'review', of: review, statement, as };
  const why = as && whyNotAs(rulesBehind(statement.rules, attributes), as);
  if (why) throw new FairleadError('IDENTITY_REFUSED', `the access statement does not hold this request: ${why}`);
  return { kind: 'pass', identity: identityWith({ identity, statement }, as ? as.groups : decision.groups) };
}

/** The identity that a request with these groups is sent with. */
export function identityWith({ identity, statement }: Served, given: readonly string[]): TunnelIdentity {
  const groups = given.filter((group) => identity.groups.includes(group));
  const stated = { user: identity.user, groups, extra: statement ? [] : identity.extra };
  assertAcceptable(stated);
  return stated;
}

/** Whom its sender acts as; null: as nobody but themselves. */
function actingAs({ user, groups }: TunnelIdentity, { statement }: VerifiedStatement): AskedIdentity | null {
  return user === statement.user ? null : { user, groups };
}
