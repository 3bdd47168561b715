import {
  decide,
  describeRequest,
  rulesBehind,
  whyNotAs,
  type AskedIdentity,
  type CompiledRules,
  type Decision,
  type RequestAttributes,
} from '@fairlead/access-rules';
import type { ClusterEntry } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { assertAcceptable, type TunnelIdentity } from '@fairlead/kube-http';
import type { GrantsIndex, Proven } from './grants-index.js';

/** What somebody asks for in a cluster, and as whom if not as themselves. */
export interface AskedOfCluster {
  readonly attributes: RequestAttributes;
  readonly as: AskedIdentity | undefined;
}

/** `grantIds`: of the grants behind it, whichever it is. */
export type Verdict =
  | { readonly kind: 'allowed'; readonly identity: TunnelIdentity; readonly grantIds: readonly string[] }
  | { readonly kind: 'refused'; readonly failure: FairleadError; readonly grantIds: readonly string[] };

/** The next step of somebody who may not. */
const ASK = 'ask for it with: fairlead access request --help';

/** Whether somebody has been granted anything in a cluster, so that they may know of it. */
export function isKnownTo(rules: CompiledRules): boolean {
  return rules.allow.length > 0;
}

/** Decides by what is granted at a time, as a verdict that tells people what is missing. */
export function decideRequest(
  who: Proven,
  cluster: ClusterEntry,
  rules: CompiledRules,
  { attributes, as }: AskedOfCluster,
): Verdict {
  const decision = decide(rules, attributes);
  const { grantIds } = decision;
  if (!decision.allowed) {
    return { kind: 'refused', failure: notGranted(who, cluster, attributes, decision), grantIds };
  }
  if (!as) return { kind: 'allowed', identity: { user: who.user, groups: decision.groups, extra: [] }, grantIds };
  const behind = rulesBehind(rules, attributes);
  const why = whyNotAs(behind, as);
  if (why !== null) {
    const failure = new FairleadError(
      'FORBIDDEN',
      `${nameOf(who.user)} may not act as somebody else here: ${why}; ${ASK}`,
    );
    return { kind: 'refused', failure, grantIds };
  }
  const identity = { user: as.user, groups: as.groups, extra: [] };
  assertAcceptable(identity);
  return { kind: 'allowed', identity, grantIds };
}

/** FORBIDDEN while all access to the cluster is off. */
export function lockedDown(grants: GrantsIndex, cluster: ClusterEntry): FairleadError | null {
  const reason = grants.lockdownOf(cluster);
  if (reason === undefined) return null;
  return new FairleadError('FORBIDDEN', `the cluster "${cluster.name}" is locked down: ${reason}`);
}

function notGranted(
  { user }: Proven,
  { name }: ClusterEntry,
  attributes: RequestAttributes,
  { cause, because }: Decision,
): FairleadError {
  const next = cause === 'denied' ? 'an administrator can take the denial back' : ASK;
  const what = describeRequest(attributes);
  return FairleadError.withoutStack(
    'FORBIDDEN',
    `${nameOf(user)} may not ${what} in the cluster "${name}": ${because}; ${next}`,
  );
}

function nameOf(user: string): string {
  return `the user ${JSON.stringify(user)}`;
}
