import { decide, everyGroup, rulesBehind, selfReviewOf, whyNotAs, type CompiledRules } from '@fairlead/access-rules';
import type { StatementVerifier } from '@fairlead/access-statement';
import { FairleadError } from '@fairlead/errors';
import type { RawHeaders, TunnelIdentity } from '@fairlead/kube-http';
import type { Admission, Granted } from './admission.js';
import { bearerOf } from './bearer.js';

/** A statement that a request brought, to be passed on to the agent as it is. */
export interface CarriedStatement {
  readonly envelope: Uint8Array;
  readonly digest: string;
}

/**
 * The statement beside the secret of a request that was let in, looked at here so that its sender hears of it at once; the agent does not take our word.
 * Undefined: there is none. Throws STATEMENT_EXPIRED, STATEMENT_REFUSED for one of another token or cluster, and STATEMENT_STALE for one that does not hold
 * yet what is granted now.
 */
export async function carriedStatement(
  verifier: StatementVerifier,
  rawHeaders: RawHeaders,
  { principal, cluster, identity, granted }: Pick<Admission, 'principal' | 'cluster' | 'identity' | 'granted'>,
): Promise<CarriedStatement | undefined> {
  const envelope = bearerOf(rawHeaders)?.statement;
  if (!envelope) return undefined;
  const { statement, digest, rules } = await verifier.open(envelope, cluster);
  if (statement.tokenId !== principal.tokenId || statement.user !== principal.user) {
    throw new FairleadError(
      'STATEMENT_REFUSED',
      'the access statement is of another token than the one it was sent with',
    );
  }
  if (granted && isStale(rules, { identity, granted })) {
    throw new FairleadError(
      'STATEMENT_STALE',
      'what is granted has changed since the credential was fetched; a new one is fetched now: run the command again',
    );
  }
  return { envelope, digest };
}

/** Whether the agent would give a request less by these rules than is granted for it now. What is not granted any more has been left out already. */
function isStale(rules: CompiledRules, { identity, granted }: { identity: TunnelIdentity; granted: Granted }): boolean {
  const { attributes, as } = granted.asked;
  const stated = decide(rules, attributes);
  if (!stated.allowed) return true;
  if (as) return whyNotAs(rulesBehind(rules, attributes), as) !== null;
  if (!selfReviewOf(attributes)) return !identity.groups.every((group) => stated.groups.includes(group));
  const every = everyGroup(rules);
  return !granted.everyGroup.every((group) => every.includes(group));
}

/**
 * As whom a request is sent. With a statement the agent decides what a question about one's own rights is told, by the request that is asked about, and
 * needs every group for it; without one the groups are those of the question itself, or the cluster would say yes to what a grant leaves out.
 */
export function identityAtAgent(
  { identity, granted }: Pick<Admission, 'identity' | 'granted'>,
  statement: CarriedStatement | undefined,
): TunnelIdentity {
  if (!statement || !granted || granted.asked.as || !selfReviewOf(granted.asked.attributes)) return identity;
  return { ...identity, groups: granted.everyGroup };
}
