import {
  DEFAULT_TENANT,
  NO_TENANT,
  isPassage,
  type AuditEntry,
  type AuditEntryKind,
  type AuditRecord,
  type AuditedPassage,
} from '@fairlead/contracts';
import { assertNever } from '@fairlead/errors';
import {
  REFUSED_BEYOND,
  aboutFacet,
  facet,
  facetsOf,
  outcomeFacet,
  passageFacet,
  storable,
  type Facet,
} from './facets.js';

export { outcomeFacet } from './facets.js';

/** What is about to be numbered. */
export interface NewEntry {
  readonly tenantId: string;
  readonly at: Date;
  readonly kind: AuditEntryKind;
  readonly source: string;
  readonly user: string;
  readonly cluster: string;
  readonly action: string;
  readonly decision: AuditEntry['decision'];
  readonly facets: readonly Facet[];
  /** JSON: what the entry's leaf commits to, byte for byte. */
  readonly body: string;
}

/** What belongs to no tenant is for the administrators of the installation, which are those of its default tenant. */
export function logOf(tenantId: string): string {
  return tenantId === NO_TENANT ? DEFAULT_TENANT : tenantId;
}

/** Whoever is beyond a door says by these that somebody may not. Source: RFC 9110, 15.5.2 and 15.5.4. */
const TURNS_AWAY: ReadonlySet<number> = new Set([401, 403]);

export function entryOfRecord(record: AuditRecord, source: string): NewEntry {
  if (isPassage(record)) return entryOfPassage(record, source);
  const { tenantId, at } = record;
  return ownEntry(KINDS[record.phase], {
    tenantId,
    at: new Date(at),
    source,
    action: actionOfOwn(record),
    body: record,
    user: record.phase === 'lost' ? record.user : '',
  });
}

function entryOfPassage(record: AuditedPassage, source: string): NewEntry {
  const { kind, door, cluster, decision, identity, resource, url, target, stream } = record;
  const user = identity?.name ?? '';
  const action = actionOf(record);
  const named = {
    trace: record.traceId,
    cluster,
    user,
    address: record.address,
    proof: identity?.proof.id,
    door,
    kind,
    decision,
    verb: resource?.verb ?? url?.verb ?? '',
    resource: resource?.resource ?? '',
    namespace: resource?.namespace ?? '',
  };
  const said = [
    action,
    cluster,
    user,
    record.as,
    url?.path ?? '',
    target,
    ...(stream?.command ?? []),
    record.cause,
    ...record.asGroups,
  ];
  return {
    tenantId: logOf(record.tenantId),
    at: new Date(record.at),
    kind: 'passage',
    source,
    user: storable(user),
    cluster: storable(cluster),
    action,
    decision,
    facets: [...ownFacets(record), ...facetsOf(named, said)],
    body: JSON.stringify(record),
  };
}

/** By what a passage is found besides what an auditor names. */
function ownFacets({ id, phase, decision, status, clusterId, identity }: AuditedPassage): Facet[] {
  const isOver = phase === 'outcome';
  const session = identity?.session ?? '';
  return [
    isOver ? outcomeFacet(id) : passageFacet(id),
    facet('entry', 'passage'),
    ...(isOver && status > 0 ? [facet('status', String(status))] : []),
    ...(isOver && decision === 'allowed' && TURNS_AWAY.has(status) ? [REFUSED_BEYOND] : []),
    ...(clusterId === null ? [] : [facet('cluster', clusterId)]),
    ...(session === '' ? [] : [facet('proof', session)]),
  ];
}

/** `get pods/cart-0 -n shop`, `exec pods/cart-0 -n shop`, `tunnel db.shop.svc:5432`. */
function actionOf({ kind, resource, url, target, phase }: AuditedPassage): string {
  const what = resource
    ? [
        kind === 'request' || kind === 'watch' ? resource.verb : kind,
        [resource.resource, resource.name, resource.subresource].filter((part) => part !== '').join('/'),
        ...(resource.namespace === '' ? [] : ['-n', resource.namespace]),
      ]
    : url
      ? [url.verb, url.path]
      : [kind, target];
  const words = what.filter((word) => word !== '').join(' ');
  return short(phase === 'intent' ? `${words} (begins)` : words);
}

const KINDS = { lost: 'lost', rules: 'rules', handshakes: 'handshakes' } as const;

function actionOfOwn(record: Exclude<AuditRecord, AuditedPassage>): string {
  switch (record.phase) {
    case 'lost':
      return record.what === 'refusals'
        ? `${record.count} refusals counted: ${record.why}`
        : `${record.count} records lost: ${record.why}`;
    case 'handshakes':
      return `${record.count} handshakes refused at the door ${record.door}: ${record.cause}`;
    case 'rules': {
      const hash = record.hash.slice(0, 12);
      return record.state === 'in-force'
        ? `${record.rules} rules of what is put on record, of the file ${hash}, are in force at ${record.replica}`
        : `rules of the file ${hash} are refused at ${record.replica}: ${record.why}`;
    }
    default:
      return assertNever(record);
  }
}

/** One that the audit service makes itself, or that says nothing of anybody. */
export function ownEntry(
  kind: AuditEntryKind,
  said: {
    readonly tenantId: string;
    readonly at: Date;
    readonly source: string;
    readonly action: string;
    /** `passageId`: it is about that one, and found by its id. */
    readonly body: Readonly<Record<string, unknown>> & { readonly passageId?: string };
    readonly user?: string;
    readonly cluster?: string;
  },
): NewEntry {
  const { tenantId, at, source, user = '', cluster = '' } = said;
  const action = short(said.action);
  const { passageId } = said.body;
  const about = passageId === undefined ? [] : [aboutFacet(passageId)];
  return {
    tenantId: logOf(tenantId),
    at,
    kind,
    source,
    user: storable(user),
    cluster: storable(cluster),
    action,
    decision: '',
    facets: [facet('entry', kind), ...about, ...facetsOf({ user, cluster }, [action, source])],
    body: JSON.stringify(said.body),
  };
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function short(text: string): string {
  return storable(text).slice(0, 512);
}
