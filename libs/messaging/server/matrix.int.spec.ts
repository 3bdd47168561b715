import { BUCKETS, ROLES } from '@fairlead/contracts';
import { silentLogger } from '@fairlead/observability';
import { scratchDir } from '@fairlead/testing';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  StreamConsumer,
  SubscriberConsumers,
  calloutIssuer,
  createNkey,
  natsAuthorization,
  natsUser,
  serveAdmission,
  subscriberConsumer,
  subscriberInboxPrefix,
} from '../index.js';
import { subscriberPermissions } from '../subscribers/subscriber-rights.js';
import { refusedPublishes, refusedSubscriptions } from '../testing/refused-subjects.js';
import { gatewayA, gatewayB, operator, startSecuredNats, type SecuredNats } from '../testing/secured-nats.js';

/** Every kind of credential there is. Agents, people and clients of doors have none: they never reach NATS. */
const PROCESSES = [
  operator,
  { role: 'access', credential: 'access' },
  { role: 'api', credential: 'api' },
  { role: 'audit', credential: 'audit' },
  { role: 'gitops', credential: 'gitops' },
  { role: 'keys', credential: 'keys' },
  { role: 'registration', credential: 'registration' },
  gatewayA,
  gatewayB,
] as const;
/** Subscribers of two tenants. */
const SUBSCRIBERS = { acme: crypto.randomUUID(), globex: crypto.randomUUID() };
const KEYS = { acme: createNkey(), globex: createNkey() };
type Name = (typeof PROCESSES)[number]['credential'] | keyof typeof SUBSCRIBERS;

const GATEWAYS: Name[] = ['gateway-a', 'gateway-b'];
const NOBODY: Name[] = [];
const CONSUMER = {
  acme: subscriberConsumer(SUBSCRIBERS.acme),
  globex: subscriberConsumer(SUBSCRIBERS.globex),
};
const POSITION = '1.1.1.1700000000000000000.0';
const SERVER = 'NAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';

/** Subject, and who may. Written down by hand, one by one: it is what the configuration that is made of the contracts has to come to. */
type Row = readonly [subject: string, may: readonly Name[]];

const EVENTS: Row[] = [
  ['fairlead.events.acme.access.grant.created.v1', ['access']],
  ['fairlead.events.acme.audit.subscriber.created.v1', ['audit']],
  ['fairlead.events.acme.gitops.rollout.started.v1', ['gitops']],
  ['fairlead.events.acme.keys.certificate.issued.v1', ['keys']],
  ['fairlead.events.acme.registration.cluster.created.v1', ['registration']],
  ['fairlead.events.acme.gateway:gateway-a.agent.connected.v1', ['gateway-a']],
  ['fairlead.events.acme.gateway:gateway-b.agent.connected.v1', ['gateway-b']],
  // Nobody in particular: so it was before replicas were named.
  ['fairlead.events.acme.gateway.agent.connected.v1', NOBODY],
  ['fairlead.events.acme.api.x.y.v1', NOBODY],
  ['fairlead.events.acme.operator.x.y.v1', NOBODY],
  ['fairlead.audit.gateway-a', ['gateway-a']],
  ['fairlead.audit.gateway-b', ['gateway-b']],
  ['fairlead.audit.audit', NOBODY],
  ['fairlead.audit.gateway-a.x', NOBODY],
];

const ENTRIES: Row[] = [
  [`$KV.${BUCKETS.routes}.gateway.gateway-a.x`, ['gateway-a']],
  [`$KV.${BUCKETS.routes}.session.gateway-a.x`, ['gateway-a']],
  [`$KV.${BUCKETS.routes}.gateway.gateway-b.x`, ['gateway-b']],
  [`$KV.${BUCKETS.routes}.session.gateway-b.x`, ['gateway-b']],
  [`$KV.${BUCKETS.routes}.x`, NOBODY],
  [`$KV.${BUCKETS.clusters}.x`, ['registration']],
  [`$KV.${BUCKETS.access}.x`, ['access']],
  [`$KV.${BUCKETS.grants}.x`, ['access']],
  [`$KV.${BUCKETS.clients}.x`, ['registration']],
  [`$KV.${BUCKETS.revocations}.x`, ['keys']],
  [`$KV.${BUCKETS.statementRevocations}.x`, ['keys']],
  [`$KV.${BUCKETS.trust}.x`, ['keys']],
  [`$KV.${BUCKETS.desired}.x`, ['gitops']],
  [`$KV.${BUCKETS.gitHosts}.x`, ['keys']],
  [`$KV.${BUCKETS.subscribers}.x`, ['audit']],
  ['$KV.other.x', NOBODY],
];

const watch = (bucket: string, keys = '>'): string =>
  `fairlead.streams.CONSUMER.CREATE.KV_${bucket}.x.$KV.${bucket}.${keys}`;
const flowControl = (stream: string): string => `$JS.FC.${stream}.x.y`;
/** Who watches all of a bucket. */
const WATCHERS: [bucket: string, who: Name[]][] = [
  [BUCKETS.clusters, [...GATEWAYS, 'registration', 'keys', 'gitops', 'access']],
  [BUCKETS.access, [...GATEWAYS, 'access']],
  [BUCKETS.grants, [...GATEWAYS, 'access']],
  [BUCKETS.clients, [...GATEWAYS, 'registration']],
  [BUCKETS.revocations, [...GATEWAYS, 'keys']],
  [BUCKETS.statementRevocations, [...GATEWAYS, 'keys']],
  [BUCKETS.trust, [...GATEWAYS, 'keys']],
  [BUCKETS.desired, [...GATEWAYS, 'gitops']],
  [BUCKETS.gitHosts, ['gitops', 'keys']],
  [BUCKETS.subscribers, ['audit', 'keys']],
];
const WATCHES: Row[] = [
  ...WATCHERS.flatMap(([bucket, who]): Row[] => [
    [watch(bucket), who],
    [flowControl(`KV_${bucket}`), who],
  ]),
  // Of these some watch a part.
  [watch(BUCKETS.routes), [...GATEWAYS, 'registration']],
  [watch(BUCKETS.routes, 'gateway.>'), [...GATEWAYS, 'registration', 'keys', 'audit']],
  [watch(BUCKETS.routes, 'session.>'), [...GATEWAYS, 'registration']],
  [flowControl(`KV_${BUCKETS.routes}`), [...GATEWAYS, 'registration', 'keys', 'audit']],
  [flowControl('FAIRLEAD_EVENTS'), NOBODY],
  [flowControl('FAIRLEAD_AUDIT'), NOBODY],
];

/** One of each service and caller; that each method has the callers that its contract says is tried beside this (permissions.int.spec.ts). */
const REQUESTS: Row[] = [
  ['fairlead.rpc.acme.registration.get-tenant.access.access', ['access']],
  ['fairlead.rpc.acme.keys.sign-access-statement.access.access', ['access']],
  ['fairlead.rpc.acme.keys.trust-bundle.api.api', ['api']],
  ['fairlead.rpc.acme.keys.open-repository.gitops.gitops', ['gitops']],
  ['fairlead.rpc.acme.keys.open-repository.gateway.gateway-a', NOBODY],
  ['fairlead.rpc.acme.gitops.report-cluster.gateway.gateway-a', ['gateway-a']],
  ['fairlead.rpc.acme.gitops.report-cluster.gateway.gateway-b', ['gateway-b']],
  ['fairlead.rpc._.registration.enrol.gateway.gateway-b', ['gateway-b']],
  // The log, its subscribers, webhooks and their keys are asked of the same two services, each by a contract of its own.
  ['fairlead.rpc.acme.audit.tile.api.api', ['api']],
  ['fairlead.rpc.acme.audit.tile.gateway.gateway-a', NOBODY],
  ['fairlead.rpc.acme.audit.redeliver.api.api', ['api']],
  ['fairlead.rpc.acme.keys.create-webhook-secret.audit.audit', ['audit']],
  ['fairlead.rpc.acme.keys.create-webhook-secret.api.api', NOBODY],
  // Of each replica by itself.
  ['fairlead.rpc.acme.gateway.list-passages.registration.registration.gateway-a', ['registration']],
  ['fairlead.rpc.acme.gateway.end-passages.registration.registration.gateway-b', ['registration']],
  ['fairlead.rpc.acme.gateway.end-passages.registration.registration', NOBODY],
  ['fairlead.rpc.acme.gateway.end-passages.gateway.gateway-a.gateway-b', NOBODY],
  ['fairlead.rpc.acme.gateway.end-passages.api.api.gateway-a', NOBODY],
  ['fairlead.rpc.acme.keys.sign-agent.registration.registration', ['registration']],
  ['fairlead.rpc.acme.keys.sign-agent.gateway.gateway-a', NOBODY],
  ['fairlead.rpc.acme.keys.sign-webhook.audit.audit', ['audit']],
  ['fairlead.rpc.acme.keys.sign-webhook.api.api', NOBODY],
  ['fairlead.rpc._.keys.sign-gateway.gateway.gateway-a', ['gateway-a']],
  ['fairlead.rpc._.keys.sign-gateway.gateway.gateway-b', ['gateway-b']],
  ['fairlead.rpc._.registration.enrol.gateway.gateway-a', ['gateway-a']],
  ['fairlead.rpc.acme.registration.delete-cluster.api.api', ['api']],
  ['fairlead.rpc.acme.access.list-issuers.api.api', ['api']],
  ['fairlead.rpc.acme.gitops.list-bundles.api.api', ['api']],
  ['fairlead.rpc.acme.audit.create-subscriber.api.api', ['api']],
  ['fairlead.rpc.acme.audit.search.audit.audit', NOBODY],
];

const STREAMS = ['FAIRLEAD_EVENTS', 'FAIRLEAD_AUDIT', ...Object.values(BUCKETS).map((bucket) => `KV_${bucket}`)];
/** What JetStream can be asked about a stream. https://docs.nats.io/reference/reference-protocols/nats_api_reference */
const OF_STREAM = [
  'STREAM.PURGE.{s}',
  'STREAM.MSG.DELETE.{s}',
  'STREAM.SNAPSHOT.{s}',
  'STREAM.RESTORE.{s}',
  'STREAM.PEER.REMOVE.{s}',
  'STREAM.LEADER.STEPDOWN.{s}',
  'DIRECT.GET.{s}',
  'DIRECT.GET.{s}.x',
  'CONSUMER.DURABLE.CREATE.{s}.x',
  'CONSUMER.LIST.{s}',
  'CONSUMER.PAUSE.{s}.x',
  'CONSUMER.RESET.{s}.x',
  'CONSUMER.UNPIN.{s}.x',
  'CONSUMER.LEADER.STEPDOWN.{s}.x',
];
const OF_NO_STREAM = [
  'STREAM.NAMES',
  'STREAM.LIST',
  'STREAM.CREATE.OTHER',
  'STREAM.TEMPLATE.CREATE.x',
  'META.LEADER.STEPDOWN',
  'SERVER.REMOVE',
  'ACCOUNT.PURGE.STREAMS',
  'ACCOUNT.STREAM.MOVE.STREAMS.x',
];
const STREAM_REQUESTS: Row[] = [
  ...['$JS.API', 'fairlead.streams'].flatMap((prefix) => [
    ...STREAMS.flatMap((stream) =>
      OF_STREAM.map((request): Row => [`${prefix}.${request.replace('{s}', stream)}`, NOBODY]),
    ),
    ...OF_NO_STREAM.map((request): Row => [`${prefix}.${request}`, NOBODY]),
  ]),
  ...STREAMS.flatMap((stream) =>
    ['CREATE', 'UPDATE', 'INFO', 'DELETE'].flatMap((request): Row[] => [
      [`$JS.API.STREAM.${request}.${stream}`, ['operator']],
      [`fairlead.streams.STREAM.${request}.${stream}`, NOBODY],
    ]),
  ),
  ['$JS.API.INFO', ['operator']],
  ['fairlead.streams.INFO', NOBODY],
  ['$JS.API.STREAM.MSG.GET.FAIRLEAD_EVENTS', ['operator']],
  ['$JS.API.STREAM.MSG.GET.FAIRLEAD_AUDIT', NOBODY],
  [`$JS.API.STREAM.MSG.GET.KV_${BUCKETS.access}`, NOBODY],
];

const CONSUMER_REQUESTS: Row[] = [
  // It reads events, by consumers of its own making. No pattern tells these from those of subscribers; of none may it acknowledge anything.
  ['$JS.API.CONSUMER.CREATE.FAIRLEAD_EVENTS', ['operator']],
  ['$JS.API.CONSUMER.CREATE.FAIRLEAD_EVENTS.x', ['operator']],
  ['$JS.API.CONSUMER.CREATE.FAIRLEAD_EVENTS.x.fairlead.events.>', ['operator']],
  ['$JS.API.CONSUMER.CREATE.FAIRLEAD_EVENTS.audit', ['operator']],
  [`$JS.API.CONSUMER.CREATE.FAIRLEAD_EVENTS.${CONSUMER.acme}`, ['operator']],
  ['$JS.API.CONSUMER.INFO.FAIRLEAD_EVENTS.x', ['operator']],
  ['$JS.API.CONSUMER.INFO.FAIRLEAD_EVENTS.audit', ['operator']],
  ['$JS.API.CONSUMER.INFO.FAIRLEAD_AUDIT.audit', ['operator']],
  [`$JS.API.CONSUMER.INFO.FAIRLEAD_EVENTS.${CONSUMER.acme}`, ['operator']],
  [`$JS.API.CONSUMER.MSG.NEXT.FAIRLEAD_EVENTS.${CONSUMER.acme}`, ['operator']],
  [`$JS.API.CONSUMER.DELETE.FAIRLEAD_EVENTS.${CONSUMER.acme}`, ['operator']],
  ['$JS.API.CONSUMER.DELETE.FAIRLEAD_AUDIT.audit', NOBODY],
  [`fairlead.streams.CONSUMER.CREATE.FAIRLEAD_EVENTS.${CONSUMER.acme}`, ['audit']],
  [`fairlead.streams.CONSUMER.DELETE.FAIRLEAD_EVENTS.${CONSUMER.acme}`, ['audit']],
  ['$JS.API.CONSUMER.MSG.NEXT.FAIRLEAD_EVENTS.x', ['operator']],
  ['$JS.API.CONSUMER.DELETE.FAIRLEAD_EVENTS.x', ['operator']],
  ['$JS.API.CONSUMER.MSG.NEXT.FAIRLEAD_EVENTS.audit', NOBODY],
  ['$JS.API.CONSUMER.DELETE.FAIRLEAD_EVENTS.audit', NOBODY],
  ['$JS.API.CONSUMER.CREATE.FAIRLEAD_AUDIT.audit', ['operator']],
  ['$JS.API.CONSUMER.CREATE.FAIRLEAD_AUDIT.x', NOBODY],
  ['$JS.API.CONSUMER.MSG.NEXT.FAIRLEAD_AUDIT.audit', NOBODY],
  ['fairlead.streams.CONSUMER.CREATE.FAIRLEAD_EVENTS.x', ['audit']],
  ['fairlead.streams.CONSUMER.CREATE.FAIRLEAD_EVENTS.audit', NOBODY],
  ['fairlead.streams.CONSUMER.CREATE.FAIRLEAD_EVENTS.x.fairlead.events.>', NOBODY],
  ['fairlead.streams.CONSUMER.CREATE.FAIRLEAD_EVENTS', NOBODY],
  ['fairlead.streams.CONSUMER.CREATE.FAIRLEAD_AUDIT.x', NOBODY],
  ['fairlead.streams.CONSUMER.CREATE.FAIRLEAD_AUDIT.audit', NOBODY],
  [`fairlead.streams.CONSUMER.CREATE.KV_${BUCKETS.access}.x`, NOBODY],
  ['fairlead.streams.CONSUMER.DELETE.FAIRLEAD_EVENTS.x', ['audit']],
  ['fairlead.streams.CONSUMER.DELETE.FAIRLEAD_EVENTS.audit', NOBODY],
  ['fairlead.streams.CONSUMER.DELETE.FAIRLEAD_AUDIT.audit', NOBODY],
  ['fairlead.streams.CONSUMER.NAMES.FAIRLEAD_EVENTS', ['audit']],
  ['fairlead.streams.CONSUMER.NAMES.FAIRLEAD_AUDIT', NOBODY],
  ['fairlead.streams.CONSUMER.INFO.FAIRLEAD_EVENTS.audit', NOBODY],
  [`fairlead.streams.CONSUMER.INFO.FAIRLEAD_EVENTS.${CONSUMER.acme}`, ['acme']],
  [`fairlead.streams.CONSUMER.INFO.FAIRLEAD_EVENTS.${CONSUMER.globex}`, ['globex']],
  ['fairlead.streams.CONSUMER.MSG.NEXT.FAIRLEAD_EVENTS.audit', ['audit']],
  ['fairlead.streams.CONSUMER.MSG.NEXT.FAIRLEAD_AUDIT.audit', ['audit']],
  ['fairlead.streams.CONSUMER.MSG.NEXT.FAIRLEAD_EVENTS.x', NOBODY],
  [`fairlead.streams.CONSUMER.MSG.NEXT.FAIRLEAD_EVENTS.${CONSUMER.acme}`, ['acme']],
  [`fairlead.streams.CONSUMER.MSG.NEXT.FAIRLEAD_EVENTS.${CONSUMER.globex}`, ['globex']],
  [`fairlead.streams.CONSUMER.MSG.NEXT.FAIRLEAD_AUDIT.${CONSUMER.acme}`, NOBODY],
  [`$JS.API.CONSUMER.INFO.FAIRLEAD_AUDIT.${CONSUMER.acme}`, NOBODY],
];

const ACKNOWLEDGEMENTS: Row[] = [
  [`$JS.ACK.FAIRLEAD_EVENTS.audit.${POSITION}`, ['audit']],
  [`$JS.ACK.FAIRLEAD_AUDIT.audit.${POSITION}`, ['audit']],
  [`$JS.ACK.FAIRLEAD_EVENTS.${CONSUMER.acme}.${POSITION}`, ['acme']],
  [`$JS.ACK.FAIRLEAD_EVENTS.${CONSUMER.globex}.${POSITION}`, ['globex']],
  [`$JS.ACK.KV_${BUCKETS.routes}.x.${POSITION}`, NOBODY],
  [`$JS.ACK._.x.FAIRLEAD_EVENTS.audit.${POSITION}.x`, NOBODY],
];

const OF_SERVER: Row[] = [
  ['$SYS.REQ.USER.AUTH', NOBODY],
  ['$SYS.REQ.USER.INFO', NOBODY],
  ['$SYS.REQ.SERVER.PING', NOBODY],
  ['$SYS.REQ.SERVER.PING.CONNZ', NOBODY],
  [`$SYS.REQ.SERVER.${SERVER}.KICK`, NOBODY],
  [`$SYS.REQ.SERVER.${SERVER}.RELOAD`, NOBODY],
  ['$SYS.REQ.ACCOUNT.PING.CONNZ', NOBODY],
  ['$SYS.REQ.ACCOUNT.STREAMS.JSZ', NOBODY],
  ['$SYS.REQ.CLAIMS.UPDATE', NOBODY],
  ['$SYS.ACCOUNT.STREAMS.CONNECT', NOBODY],
  ['fairlead.nats.CONNECTIONS', ['keys']],
  [`fairlead.nats.${SERVER}.CUT`, ['keys']],
  [`fairlead.nats.${SERVER}.RELOAD`, NOBODY],
];

/** A reply goes where the request said, by `allow_responses`: of oneself nobody writes to any inbox. */
const INBOXES: Row[] = [
  ['_INBOX.x', NOBODY],
  ...PROCESSES.map(({ role, credential }): Row => [`_INBOX_${role}_${credential}.x`, NOBODY]),
  [`${subscriberInboxPrefix(KEYS.acme.publicKey)}.x`, NOBODY],
  [`${subscriberInboxPrefix(KEYS.globex.publicKey)}.x`, NOBODY],
  ['_R_.x.y', NOBODY],
  ['$SYS._INBOX.x', NOBODY],
];

/** What somebody listens to. In a group, where there is one. */
const LISTENED: Row[] = [
  ...PROCESSES.map(({ role, credential }): Row => [`_INBOX_${role}_${credential}.>`, [credential]]),
  [`${subscriberInboxPrefix(KEYS.acme.publicKey)}.>`, ['acme']],
  [`${subscriberInboxPrefix(KEYS.globex.publicKey)}.>`, ['globex']],
  ...['>', '*', '_INBOX.>', '_INBOX_*.>', 'fairlead.>', 'fairlead.events.>', 'fairlead.events.acme.>'].map(nobodys),
  ...['fairlead.audit.*', 'fairlead.audit.gateway-a', '$KV.>', `$KV.${BUCKETS.access}.>`].map(nobodys),
  ...['$JS.>', '$JS.API.>', '$JS.ACK.>', '$JS.EVENT.>', 'fairlead.streams.>', '$SYS.>', '_R_.>'].map(nobodys),
  ...['$SYS.REQ.>', '$SYS.REQ.USER.AUTH', '$SYS.ACCOUNT.>', 'fairlead.nats.>'].map(nobodys),
  ['$SYS.REQ.USER.AUTH keys', ['keys']],
  ['$SYS.REQ.USER.AUTH other', NOBODY],
  ['fairlead.rpc.*.access.list-issuers.*.* access', ['access']],
  ['fairlead.rpc.*.audit.create-subscriber.*.* audit', ['audit']],
  ['fairlead.rpc.*.gitops.list-bundles.*.* gitops', ['gitops']],
  ['fairlead.rpc.*.keys.sign-agent.*.* keys', ['keys']],
  ['fairlead.rpc.*.registration.enrol.*.* registration', ['registration']],
  ...['fairlead.rpc.>', 'fairlead.rpc.*.keys.sign-agent.*.*', 'fairlead.rpc.*.keys.sign-agent.*.* other'].map(nobodys),
  ['fairlead.rpc.*.gateway.list-passages.*.*.gateway-a', ['gateway-a']],
  ['fairlead.rpc.*.gateway.list-passages.*.*.gateway-b', ['gateway-b']],
  ['fairlead.rpc.*.gateway.list-passages.*.*.*', NOBODY],
  ['fairlead.rpc.*.gateway.end-passages.*.*.gateway-a', ['gateway-a']],
  ['fairlead.rpc.*.gateway.end-passages.*.*.gateway-b', ['gateway-b']],
];

function nobodys(subject: string): Row {
  return [subject, NOBODY];
}

let nats: SecuredNats;
const stack = new AsyncDisposableStack();
const connections = new Map<Name, NatsConnection>();

beforeAll(async () => {
  nats = stack.use(await startSecuredNats(stack.use(await scratchDir()).path));
  for (const holder of PROCESSES) connections.set(holder.credential, await nats.connect(holder));
  const known = new Map([
    [KEYS.acme.publicKey, SUBSCRIBERS.acme],
    [KEYS.globex.publicKey, SUBSCRIBERS.globex],
  ]);
  stack.use(
    serveAdmission({
      nats: as('keys'),
      queue: 'keys',
      issuer: calloutIssuer(await nats.seed({ role: 'keys', credential: 'keys' })),
      known: (publicKey) => known.get(publicKey),
      logger: silentLogger,
    }),
  );
  await as('keys').flush();
  const consumers = new SubscriberConsumers(as('audit'));
  for (const tenant of ['acme', 'globex'] as const) {
    const subjects = [`fairlead.events.${tenant}.*.>`];
    await consumers.ensure({ subscriberId: SUBSCRIBERS[tenant], subjects, startsAt: { time: new Date() } });
    connections.set(tenant, await nats.connectSubscriber(KEYS[tenant].seed));
  }
}, 60_000);
afterAll(() => stack.disposeAsync());

function as(name: Name): NatsConnection {
  const connection = connections.get(name);
  if (!connection) throw new Error(`${name} is not connected`);
  return connection;
}

/** The operator last: what it may do, it does. */
const NAMES: Name[] = ['acme', 'globex', ...PROCESSES.map(({ credential }) => credential).toReversed()];

const PUBLISHED = [
  ['events and spools', EVENTS],
  ['entries of buckets', ENTRIES],
  ['watches of buckets', WATCHES],
  ['requests to services', REQUESTS],
  ['requests about streams', STREAM_REQUESTS],
  ['requests about consumers', CONSUMER_REQUESTS],
  ['acknowledgements', ACKNOWLEDGEMENTS],
  ['the server itself', OF_SERVER],
  ['inboxes', INBOXES],
] as const;

describe('the matrix is whole', () => {
  it('has a process of every role', () => {
    expect(new Set(PROCESSES.map(({ role }) => role))).toEqual(new Set(['operator', ...ROLES]));
  });

  it.each([...PROCESSES.map(({ credential }) => credential), 'acme', 'globex'] as const)(
    'has a row for all that %s is allowed and denied',
    (name) => {
      const { publish, deny, subscribe } = granted(name);
      const published = PUBLISHED.flatMap(([, rows]) => rows);
      const isTried = (pattern: string, rows: readonly Row[], allowed: boolean): boolean =>
        rows.some(([subject, may]) => may.includes(name) === allowed && matches(classOf(pattern), subject));
      expect(publish.length + subscribe.length).toBeGreaterThan(1);
      expect(publish.filter((pattern) => !isTried(pattern, published, true))).toEqual([]);
      expect(deny.filter((pattern) => !isTried(pattern, published, false))).toEqual([]);
      expect(subscribe.filter((pattern) => !isTried(pattern, LISTENED, true))).toEqual([]);
    },
  );
});

describe.each(PUBLISHED)('publishing: %s', (_, rows) => {
  it.each(NAMES)('%s', async (name) => {
    const refused = await refusedPublishes(
      as(name),
      rows.map(([subject]) => subject),
    );
    expect(outcomes(rows, (subject) => !refused.has(subject))).toEqual(outcomes(rows, expected(rows, name)));
  });
});

describe('listening', () => {
  it.each(NAMES)('%s', async (name) => {
    const refused = await refusedSubscriptions(
      as(name),
      LISTENED.map(([subject]) => subject),
    );
    expect(outcomes(LISTENED, (subject) => !refused.has(subject))).toEqual(
      outcomes(LISTENED, expected(LISTENED, name)),
    );
  });
});

/** NATS checks no permission on where an answer is to go. What could be named here is not guarded by the table above. */
describe('a subscriber that has the answers to its own requests go elsewhere', () => {
  const EVENT = 'fairlead.events.acme.access.login.ended.v1';
  const next = `fairlead.streams.CONSUMER.MSG.NEXT.FAIRLEAD_EVENTS.${CONSUMER.acme}`;
  const info = `fairlead.streams.CONSUMER.INFO.FAIRLEAD_EVENTS.${CONSUMER.acme}`;
  const consumerOf = async (name: string) => {
    const reader = await jetstreamManager(await nats.connectReader());
    const {
      delivered,
      ack_floor: floor,
      num_ack_pending: unacknowledged,
    } = await reader.consumers.info('FAIRLEAD_EVENTS', name);
    return { delivered, floor, unacknowledged };
  };

  it('neither acknowledges nor takes what others are given', async () => {
    for (const _ of [1, 2, 3]) await jetstream(as('access')).publish(EVENT, '{}');
    const given = new StreamConsumer({
      nats: as('audit'),
      stream: 'FAIRLEAD_EVENTS',
      consumer: 'audit',
      subjects: 'fairlead.events.',
    });
    const [first] = await given.next({ messages: 1, bytes: 1_000_000, waitMs: 5_000 });
    const before = [await consumerOf('audit'), await consumerOf(CONSUMER.globex)];
    expect(before[0]?.unacknowledged).toBe(1);
    const position = `1.${first?.sequence}.1.1700000000000000000.0`;
    for (const landing of [
      `$JS.ACK.FAIRLEAD_EVENTS.audit.${position}`,
      'fairlead.streams.CONSUMER.MSG.NEXT.FAIRLEAD_EVENTS.audit',
      '$JS.API.CONSUMER.MSG.NEXT.FAIRLEAD_EVENTS.audit',
      `fairlead.streams.CONSUMER.MSG.NEXT.FAIRLEAD_EVENTS.${CONSUMER.globex}`,
      `$JS.ACK.FAIRLEAD_EVENTS.${CONSUMER.globex}.${position}`,
    ]) {
      as('acme').publish(next, '{"batch":1,"no_wait":true}', { reply: landing });
      as('acme').publish(info, '', { reply: landing });
      as('acme').publish(`$JS.ACK.FAIRLEAD_EVENTS.${CONSUMER.acme}.${POSITION}`, '+NXT', { reply: landing });
    }
    await as('acme').flush();
    // Answered after all of them were, on the same connection.
    await as('acme').request(info, '', { timeout: 20_000 });
    expect([await consumerOf('audit'), await consumerOf(CONSUMER.globex)]).toEqual(before);
    // The same acknowledgement, of whoever may say it.
    await as('audit').request(`$JS.ACK.FAIRLEAD_EVENTS.audit.${position}`, '+ACK', { timeout: 20_000 });
    expect((await consumerOf('audit')).unacknowledged).toBe(0);
  });
});

it('lets in nobody whose key is not known', async () => {
  await expect(nats.connectSubscriber(createNkey().seed)).rejects.toThrow(/[Aa]uthorization/);
});

interface Granted {
  readonly publish: readonly string[];
  readonly deny: readonly string[];
  readonly subscribe: readonly string[];
}

/** As nats-server is told. */
function granted(name: Name): Granted {
  if (name === 'acme' || name === 'globex')
    return { ...subscriberPermissions(SUBSCRIBERS[name], KEYS[name].publicKey), deny: [] };
  const user = natsUser(
    PROCESSES.find(({ credential }) => credential === name)!,
    createNkey().seed,
  );
  const [, rest = ''] = natsAuthorization([user]).split('permissions: {');
  const list = (before: RegExp): string[] => {
    const [, json = '[]'] = before.exec(rest) ?? [];
    return JSON.parse(json) as string[];
  };
  return {
    publish: list(/publish: \{ allow: (\[[^\]]*\])/),
    deny: list(/deny: (\[[^\]]*\])/),
    subscribe: list(/subscribe: \{ allow: (\[[^\]]*\])/),
  };
}

/** Of methods of one service one row is enough: `permissions.int.spec.ts` tries all. */
function classOf(pattern: string): string {
  const words = pattern.split('.');
  return words[1] === 'rpc' && words[3] !== 'gateway' ? words.with(4, '*').join('.') : pattern;
}

/** https://docs.nats.io/nats-concepts/subjects: a pattern is also what a narrower pattern is tried by. */
function matches(pattern: string, subject: string): boolean {
  const [wanted, given] = [pattern.split('.'), subject.split('.')];
  const tail = wanted.at(-1) === '>';
  const words = tail ? wanted.slice(0, -1) : wanted;
  if (tail ? given.length <= words.length : given.length !== words.length) return false;
  return words.every((word, at) => word === '*' || word === given[at]);
}

/** Only what is allowed, so that a difference is short to read. */
function outcomes(rows: readonly Row[], may: (subject: string) => boolean): string[] {
  return rows.map(([subject]) => subject).filter(may);
}

function expected(rows: readonly Row[], name: Name): (subject: string) => boolean {
  const allowed = new Set(rows.filter(([, may]) => may.includes(name)).map(([subject]) => subject));
  return (subject) => allowed.has(subject);
}
