import { compileRules, decide, type AccessRule, type RequestAttributes } from '@fairlead/access-rules';
import type { AccessExplanation, Grant } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { decideTarget, readConnectTarget } from '@fairlead/targets';

export interface Question {
  readonly verb: string;
  /** `pods`, `pods/log`, `deployments.apps/scale`, or a path that begins with a slash. */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

/** The request that somebody asks about. INVALID_ARGUMENT. */
export function attributesOf({ verb, resource: text, namespace, name }: Question): RequestAttributes {
  if (text.startsWith('/')) return { kind: 'url', verb, path: text };
  const [, resource, apiGroup = '', subresource = ''] = /^([^./]+)(?:\.([^/]+))?(?:\/([^/]+))?$/.exec(text) ?? [];
  if (resource === undefined) {
    throw new FairleadError(
      'INVALID_ARGUMENT',
      'name a resource as pods, pods/log or deployments.apps, or a path that begins with /',
    );
  }
  return { kind: 'resource', verb, apiGroup, resource, subresource, namespace, name };
}

/** Of the lockdown that holds for the cluster. */
export interface LockedDown {
  /** Null: all of the tenant. */
  readonly cluster: string | null;
  readonly reason: string;
}

/** How a door decides: by the lockdown, if there is one, and else by all rules of the user in the cluster. */
export function explain(
  rules: readonly AccessRule[],
  lockdown: LockedDown | null,
  question: Question,
): AccessExplanation {
  const attributes = attributesOf(question);
  if (lockdown) return lockedDown(lockdown);
  const { allowed, grantIds, groups, because } = decide(compileRules(rules), attributes);
  return { allowed, grantId: grantIds[0] ?? null, groups: groups.slice(0, 64), because: because.slice(0, 1_024) };
}

/** The same of a client, that is, of a target that it asks for: `10.1.2.3:9100`. Which clusters it was registered with is not seen here. INVALID_ARGUMENT. */
export function explainTarget(
  grants: readonly Grant[],
  lockdown: LockedDown | null,
  { resource }: Question,
): AccessExplanation {
  const target = readConnectTarget(resource);
  if (!target) throw new FairleadError('INVALID_ARGUMENT', 'a client asks for a target: name it as HOST:PORT');
  if (lockdown) return lockedDown(lockdown);
  const said = grants.map(({ id: grantId, effect, targets }) => ({ grantId, effect, targets }));
  const { allowed, grantIds, because } = decideTarget(said, target.host, target.port);
  return { allowed, grantId: grantIds[0] ?? null, groups: [], because };
}

function lockedDown({ cluster, reason }: LockedDown): AccessExplanation {
  const what = cluster === null ? 'all clusters are' : `the cluster ${cluster} is`;
  return { allowed: false, grantId: null, groups: [], because: `${what} locked down: ${reason}` };
}
