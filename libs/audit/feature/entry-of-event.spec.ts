import { DEFAULT_TENANT } from '@fairlead/contracts';
import { createEvent, Envelope, type EventInput, type EventType } from '@fairlead/events';
import { expect, it } from 'vitest';
import { entryOfEvent } from './entry-of-event.js';

const CLUSTER = '018f6f2e-7c1a-7b3e-9d55-2f1f0a4c9e11';
const GRANT = '018f6f2e-9a04-7c52-8b1e-6a0d3c7be902';

function entryOf(type: EventType, subject: string, said: object) {
  const actor = { kind: 'user' as const, id: 'corp:dana', address: '192.0.2.7' };
  const data = { tenantId: DEFAULT_TENANT, subject, actor, reason: 'OK', ...said } as unknown as EventInput<EventType>;
  const { body } = createEvent({ role: 'access', credential: 'access' }, type, data);
  return entryOfEvent(Envelope.parse(JSON.parse(body)), 'access');
}

const clustersOf = ({ facets }: { readonly facets: readonly string[] }): string[] =>
  facets.filter((each) => each.startsWith('cluster=')).map((each) => each.slice('cluster='.length));

it('is found by the cluster that it is about, by name and by id', () => {
  const lockdown = entryOf('dev.fairlead.lockdown.begun.v1', `cluster/${CLUSTER}`, {
    clusterId: CLUSTER,
    cluster: 'shop',
    why: 'an incident',
  });
  expect([lockdown.cluster, clustersOf(lockdown)]).toEqual(['shop', ['shop', CLUSTER]]);
  const link = { clusterId: CLUSTER, generation: 1, sessionId: GRANT, gateway: 'gateway-a' };
  const connected = entryOf('dev.fairlead.agent.connected.v1', `cluster/${CLUSTER}`, link);
  expect([connected.cluster, clustersOf(connected)]).toEqual(['', [CLUSTER]]);
  const token = { clusterId: CLUSTER, name: 'shop', tokenId: GRANT };
  const revoked = entryOf('dev.fairlead.token.revoked.v1', `token/${GRANT}`, token);
  expect([revoked.cluster, clustersOf(revoked)]).toEqual(['shop', ['shop', CLUSTER]]);
  expect(revoked.facets).toEqual(expect.arrayContaining([`proof=${GRANT}`, 'address=192.0.2.7', 'user=corp:dana']));
});

it('is found by each of the clusters that access is asked for, and says none as if it were the only one', () => {
  const request = { requestId: GRANT, user: 'corp:dana', role: 'view', narrowing: {}, seconds: 60, why: 'looks' };
  const asked = (clusters: object) =>
    entryOf('dev.fairlead.access-request.created.v1', `access-request/${GRANT}`, { ...request, clusters });
  const some = asked({ names: ['shop', 'till'] });
  expect([some.cluster, clustersOf(some)]).toEqual(['', ['shop', 'till']]);
  expect(clustersOf(asked({ all: true }))).toEqual([]);
  expect(asked({ names: ['shop'] }).cluster).toBe('shop');
});

it('of a stream is found by the id of its passage', () => {
  const stream = {
    clusterId: CLUSTER,
    gateway: 'gateway-a',
    streamId: GRANT,
    kind: 'exec',
    protocol: 'websocket',
    namespace: 'shop',
    object: 'pods/cart-0',
    container: '',
    command: ['sh'],
    commandCut: false,
    stdin: false,
    tty: false,
  };
  expect(entryOf('dev.fairlead.stream.opened.v1', `cluster/${CLUSTER}`, stream).facets).toContain(`about=${GRANT}`);
});
