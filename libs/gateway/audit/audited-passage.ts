import { countsAsCreate, type RequestAttributes } from '@fairlead/access-rules';
import { NO_TENANT, type AuditedPassage } from '@fairlead/contracts';
import { DOORS } from '../passage/door-table.js';
import { causeOf, clusterIdOf, type Asked, type Grounds, type Identity, type Outcome } from '../passage/outcome.js';
import { kindOfRequest, kindOfStream } from '../passage/passage-kind.js';

/** As long as the contract lets them be. What a peer made up is cut, never a reason not to tell of it. */
const LONGEST = {
  address: 64,
  grants: 8,
  groups: 32,
  method: 16,
  name: 253,
  path: 1_024,
  proof: 128,
  target: 300,
  uri: 2_048,
  userAgent: 256,
  user: 256,
  verb: 64,
};

/** A passage that is over, as the audit keeps it. */
export function auditedOutcome(outcome: Outcome): AuditedPassage {
  return {
    ...about(outcome),
    phase: 'outcome',
    status: outcome.ending.status ?? 0,
    cause: causeOf(outcome.ending),
    bytesUp: outcome.bytesUp,
    bytesDown: outcome.bytesDown,
    durationMs: Math.round(outcome.durationMs),
  };
}

/** One that is about to be let go on: whatever is known of it then. */
export function auditedIntent(outcome: Outcome): AuditedPassage {
  return { ...about(outcome), phase: 'intent', status: 0, cause: 'OPEN', bytesUp: 0, bytesDown: 0, durationMs: 0 };
}

type Ended = 'phase' | 'status' | 'cause' | 'bytesUp' | 'bytesDown' | 'durationMs';

function about(outcome: Outcome): Omit<AuditedPassage, Ended> {
  const { door, asked, identity, cluster, grounds, way, decision } = outcome;
  const { target } = asked;
  return {
    id: outcome.requestId,
    at: new Date(outcome.startedAtMs).toISOString(),
    tenantId: outcome.tenantId ?? NO_TENANT,
    door,
    kind: kindOf(outcome),
    address: outcome.address.slice(0, LONGEST.address),
    traceId: outcome.traceId,
    ingress: outcome.ingress,
    owner: way?.replica ?? null,
    session: way?.sessionId ?? '',
    clusterId: clusterIdOf(outcome) ?? null,
    cluster: (asked.cluster ?? cluster?.name ?? '').slice(0, LONGEST.name),
    identity: identity ? identityOf(identity) : null,
    ...groundsOf(grounds),
    method: asked.method.slice(0, LONGEST.method),
    requestUri: (asked.uri ?? '').slice(0, LONGEST.uri),
    userAgent: (asked.userAgent ?? '').slice(0, LONGEST.userAgent),
    ...attributesOf(asked),
    target: target ? `${target.host}:${target.port}`.slice(0, LONGEST.target) : '',
    stream: streamOf(asked),
    decision,
  };
}

function groundsOf(
  { as = '', asGroups = [], grantIds }: Grounds = { grantIds: [] },
): Pick<AuditedPassage, 'as' | 'asGroups' | 'asGroupsCut' | 'grantIds' | 'grantIdsCut'> {
  return {
    as: as.slice(0, LONGEST.user),
    asGroups: namesOf(asGroups),
    asGroupsCut: asGroups.length > LONGEST.groups,
    grantIds: grantIds.slice(0, LONGEST.grants),
    grantIdsCut: grantIds.length > LONGEST.grants,
  };
}

function namesOf(groups: readonly string[]): string[] {
  return groups.slice(0, LONGEST.groups).map((group) => group.slice(0, LONGEST.user));
}

function kindOf({ door, asked }: Outcome): AuditedPassage['kind'] {
  if (door !== 'kube-api') return DOORS[door].kind;
  return asked.stream ? kindOfStream(asked.stream) : kindOfRequest(asked.attributes);
}

function identityOf({ kind, name, proof, groups = [], session = '' }: Identity): AuditedPassage['identity'] {
  const of = proof.kind === 'token' ? proof.of : '';
  return {
    kind,
    name: name.slice(0, LONGEST.user),
    groups: namesOf(groups),
    groupsCut: groups.length > LONGEST.groups,
    session,
    proof: { kind: proof.kind, id: proof.id.slice(0, LONGEST.proof), of },
  };
}

function attributesOf({ attributes }: Asked): Pick<AuditedPassage, 'resource' | 'url'> {
  if (!attributes) return { resource: null, url: null };
  const verb = verbOf(attributes).slice(0, LONGEST.verb);
  if (attributes.kind === 'url') return { resource: null, url: { verb, path: attributes.path.slice(0, LONGEST.path) } };
  const { apiGroup, resource, subresource, namespace, name } = attributes;
  const cut = (text: string): string => text.slice(0, LONGEST.name);
  return {
    resource: {
      verb,
      apiGroup: cut(apiGroup),
      resource: cut(resource),
      subresource: cut(subresource),
      namespace: cut(namespace),
      name: cut(name),
    },
    url: null,
  };
}

/** As it was decided about: a shell by WebSocket is a GET, by SPDY a POST, and both need `create`. */
function verbOf(attributes: RequestAttributes): string {
  return attributes.kind === 'resource' && countsAsCreate(attributes) ? 'create' : attributes.verb;
}

function streamOf({ stream }: Asked): AuditedPassage['stream'] {
  if (!stream) return null;
  const { protocol, container, command, commandCut, stdin, tty } = stream;
  return { protocol, container, command: [...command], commandCut, stdin, tty };
}
