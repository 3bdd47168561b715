import { EVENT_TYPE_PREFIX, type Envelope } from '@fairlead/events';
import { logOf, short, textOf, type NewEntry } from '../domain/entry.js';
import { facet, facetsOf, storable } from '../domain/facets.js';

/** An event as an entry of its tenant's log; `teller`: whose subject it came by. */
export function entryOfEvent(event: Envelope, teller: string): NewEntry {
  const { data } = event;
  const actor = (data['actor'] ?? {}) as { kind?: unknown; id?: unknown };
  const type = event.type.replace(EVENT_TYPE_PREFIX, '').replace(/\.v\d+$/, '');
  const user = textOf(actor.id);
  const cluster = event.subject.startsWith('cluster/') ? textOf(data['name']) : '';
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
    facets: [facet('entry', 'event'), ...facetsOf({ user, cluster, type }, said)],
    body: JSON.stringify(event),
  };
}
