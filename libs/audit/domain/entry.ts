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
import { facet, facetsOf, storable, type Facet } from './facets.js';

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

/** Of an intent, of which an outcome is awaited; and of the outcome that ends the waiting. */
export const passageFacet = (id: string): Facet => facet('passage', id);
export const outcomeFacet = (id: string): Facet => facet('outcome', id);

/** What belongs to no tenant is for the administrators of the installation, which are those of its default tenant. */
export function logOf(tenantId: string): string {
  return tenantId === NO_TENANT ? DEFAULT_TENANT : tenantId;
}

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
  const { id, phase, kind, door, cluster, decision, identity, resource, url, target, stream } = record;
  const user = identity?.name ?? '';
  const action = actionOf(record);
  const named = {
    cluster,
    user,
    door,
    kind,
    decision,
    verb: resource?.verb ?? url?.verb ?? '',
    resource: resource?.resource ?? '',
    namespace: resource?.namespace ?? '',
  };
  const said = [action, cluster, user, record.as, url?.path ?? '', target, ...(stream?.command ?? []), record.cause];
  const traced = record.traceId === '' ? [] : [facet('trace', record.traceId)];
  const own = [phase === 'outcome' ? outcomeFacet(id) : passageFacet(id), ...traced, facet('entry', 'passage')];
  return {
    tenantId: logOf(record.tenantId),
    at: new Date(record.at),
    kind: 'passage',
    source,
    user: storable(user),
    cluster: storable(cluster),
    action,
    decision,
    facets: [...own, ...facetsOf(named, said)],
    body: JSON.stringify(record),
  };
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
    readonly body: object;
    readonly user?: string;
    readonly cluster?: string;
  },
): NewEntry {
  const { tenantId, at, source, user = '', cluster = '' } = said;
  const action = short(said.action);
  return {
    tenantId: logOf(tenantId),
    at,
    kind,
    source,
    user: storable(user),
    cluster: storable(cluster),
    action,
    decision: '',
    facets: [facet('entry', kind), ...facetsOf({ user, cluster }, [action, source])],
    body: JSON.stringify(said.body),
  };
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function short(text: string): string {
  return storable(text).slice(0, 512);
}
