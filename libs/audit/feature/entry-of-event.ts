import { EVENT_TYPE_PREFIX, type Envelope } from '@fairlead/events';
import { logOf, short, textOf, type NewEntry } from '../domain/entry.js';
import { aboutFacet, facet, facetsOf, storable, type Facet } from '../domain/facets.js';

/** Of one event; a grant names 64 at most. */
const MAX_CLUSTERS = 256;

/** An event as an entry of its tenant's log; `teller`: whose subject it came by. */
export function entryOfEvent(event: Envelope, teller: string): NewEntry {
  const { data } = event;
  const actor = (data['actor'] ?? {}) as { kind?: unknown; id?: unknown; address?: unknown };
  const type = event.type.replace(EVENT_TYPE_PREFIX, '').replace(/\.v\d+$/, '');
  const user = textOf(actor.id);
  const names = namesOfClusters(event);
  const cluster = names.length === 1 ? (names[0] ?? '') : '';
  const said = [type, event.subject, user, cluster, textOf(data['name']), textOf(data['reason'])];
  return {
    tenantId: logOf(event.tenantid),
    at: new Date(event.time),
    kind: 'event',
    source: teller,
    user: storable(user).slice(0, 256),
    cluster: storable(cluster).slice(0, 253),
    action: short(`${type} ${event.subject}`),
    decision: '',
    facets: [
      ...new Set([
        facet('entry', 'event'),
        ...aboutOf(event),
        ...[...names, ...idsOfClusters(event)].map((each) => facet('cluster', each)),
        ...facetsOf({ user, address: textOf(actor.address), proof: proofOf(event), type }, said),
      ]),
    ],
    body: JSON.stringify(event),
  };
}

/** Its own id; of a stream, that of its passage, too. */
function aboutOf({ id, data }: Envelope): Facet[] {
  return [id, textOf(data['streamId'])].filter((each) => each !== '').map((each) => aboutFacet(each.toLowerCase()));
}

/** The id of a token or the serial number of a certificate that it is about. */
function proofOf({ data }: Envelope): string {
  return textOf(data['tokenId']) || textOf(data['serial']);
}

/** As events of all services name them: the one that it is about, and those that a grant, a request for access or a lockdown is for. */
function namesOfClusters({ subject, data }: Envelope): string[] {
  const isOfCluster = subject.startsWith('cluster/') || textOf(data['clusterId']) !== '';
  const { names } = (data['clusters'] ?? {}) as { readonly names?: unknown };
  return texts([isOfCluster ? data['name'] : '', data['cluster'], ...listOf(names)]);
}

function idsOfClusters({ subject, data }: Envelope): string[] {
  const [noun, id] = subject.split('/');
  return texts([noun === 'cluster' ? id : '', data['clusterId'], ...listOf(data['clusterIds'])]);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]).slice(0, MAX_CLUSTERS) : [];
}

function texts(values: readonly unknown[]): string[] {
  return [...new Set(values.map(textOf).filter((text) => text !== ''))];
}
