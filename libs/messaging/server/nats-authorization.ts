import {
  ALL_RPCS,
  BUCKETS,
  REPLICA_RPCS,
  auditSubject,
  bucketOf,
  replicaPattern,
  replicaPublishPermission,
  rowOf,
  rpcPattern,
  rpcPublishPermission,
  tellerOf,
  type Caller,
  type KeysOf,
  type Role,
} from '@fairlead/contracts';
import { inboxPrefix, type Holder } from '../connection/inbox.js';
import { nkeyFromSeed } from '../connection/nkey.js';
import { STREAMS_API } from '../kv/bucket-feed.js';
import { nextMessageSubject } from '../consumer/stream-consumer.js';
import { calloutIssuer } from '../subscribers/callout-issuer.js';
import { ADMISSION_SUBJECT } from '../subscribers/serve-admission.js';
import { CONNECTIONS_REQUEST, cutRequest } from '../subscribers/subscriber-connections.js';
import { SUBSCRIBERS_ACCOUNT } from '../subscribers/subscriber-rights.js';
import { AUDIT_STREAM, CONSUMERS, EVENT_STREAM, STREAM_NAMES } from './provision-jetstream.js';

export interface NatsUser extends Holder {
  /** nkey, public half. */
  readonly publicKey: string;
  /** Of whoever lets others in besides (`admits`): the public half of the key that it signs that with. Without one nobody is let in besides. */
  readonly issuer?: string;
}

/** The user of a credential whose seed is known. INVALID_ARGUMENT: it is no seed. */
export function natsUser(holder: Holder, seed: string): NatsUser {
  const { publicKey } = nkeyFromSeed(seed);
  return admits(holder)
    ? { ...holder, publicKey, issuer: calloutIssuer(seed).getPublicKey() }
    : { ...holder, publicKey };
}

interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
  /** Not these, although `publish` says so. */
  readonly neverPublish?: readonly string[];
}

const MIN_ANSWER_MS = 30_000;
/** By services, and by replicas. */
const ANSWERED = [...ALL_RPCS, ...REPLICA_RPCS];

/** The account of the streams, whose one user is the operator; and that of everybody else, who reaches them by name alone. */
const [STREAMS, PROCESSES] = ['STREAMS', 'PROCESSES'];
/** nats-server's own account: nobody is in it. */
const SYSTEM = '$SYS';

interface StreamsAnswer {
  readonly subject: string;
  /** As processes name it. */
  readonly to?: string;
  /** More than one answer comes to a request. */
  readonly response_type?: 'Stream';
}

/** What the streams' account answers the processes. Which of it a process may ask, its permissions say. */
const ANSWERED_BY_STREAMS: readonly StreamsAnswer[] = [
  { subject: '$KV.>' },
  { subject: 'fairlead.events.>' },
  { subject: 'fairlead.audit.*' },
  { subject: '$JS.API.CONSUMER.CREATE.>', to: `${STREAMS_API}.CONSUMER.CREATE.>` },
  { subject: '$JS.FC.>' },
  ...CONSUMERS.flatMap(({ stream, durable }): StreamsAnswer[] => [
    // Each message comes as an answer to the request for it.
    {
      subject: `$JS.API.CONSUMER.MSG.NEXT.${stream}.${durable}`,
      to: nextMessageSubject(stream, durable),
      response_type: 'Stream',
    },
    { subject: `$JS.ACK.${stream}.${durable}.>` },
  ]),
  // To make and remove the consumers of subscribers.
  ...[`CONSUMER.DELETE.${EVENT_STREAM}.*`, `CONSUMER.NAMES.${EVENT_STREAM}`].map((request) => ({
    subject: `$JS.API.${request}`,
    to: `${STREAMS_API}.${request}`,
  })),
];

/** What the streams' account answers subscribers: of their consumers, whichever is theirs. */
const ANSWERED_TO_SUBSCRIBERS: readonly StreamsAnswer[] = [
  {
    subject: `$JS.API.CONSUMER.MSG.NEXT.${EVENT_STREAM}.*`,
    to: `${STREAMS_API}.CONSUMER.MSG.NEXT.${EVENT_STREAM}.*`,
    response_type: 'Stream',
  },
  { subject: `$JS.API.CONSUMER.INFO.${EVENT_STREAM}.*`, to: `${STREAMS_API}.CONSUMER.INFO.${EVENT_STREAM}.*` },
  { subject: `$JS.ACK.${EVENT_STREAM}.*.>` },
];

/** What nats-server itself answers whoever lets subscribers in: who is connected, and that one is to be cut off. */
const ANSWERED_BY_SYSTEM: readonly StreamsAnswer[] = [
  { subject: '$SYS.REQ.SERVER.PING.CONNZ', to: CONNECTIONS_REQUEST, response_type: 'Stream' },
  { subject: '$SYS.REQ.SERVER.*.KICK', to: cutRequest('*') },
];

/** So that they cannot take all connections of a server. */
const MAX_SUBSCRIBER_CONNECTIONS = 4_096;

/**
 * The `accounts` block of a nats-server configuration, and the one that says who lets others in (ADR 77): each user may do what the contracts and `SERVICES` give its role, under its
 * own name, and nothing else. NATS checks no permission on a reply subject, so that of a process must mean nothing where the
 * streams are: they have an account of their own, in which every request arrives with a reply subject of the server's making
 * (ADR 35). In the account of the processes a foreign reply subject still reaches services, which check it (`readRequest`).
 * Syntax: https://docs.nats.io/running-a-nats-service/configuration/securing_nats/accounts
 */
export function natsAuthorization(users: readonly NatsUser[]): string {
  const operators = users.filter(({ role }) => role === 'operator');
  const processes = users.filter(({ role }) => role !== 'operator');
  // A watched bucket is delivered from the streams' account to the inbox of who watches.
  const delivered = processes.map((user) => `${inboxPrefix(user)}.>`);
  return `accounts {
  ${STREAMS} {
    jetstream: enabled
    exports: ${renderList([
      ...exportsTo(PROCESSES, ANSWERED_BY_STREAMS),
      ...delivered.map((subject) => ({ stream: subject, accounts: [PROCESSES] })),
      ...exportsTo(SUBSCRIBERS_ACCOUNT, ANSWERED_TO_SUBSCRIBERS),
    ])}
    users: [\n${operators.map(renderUser).join('\n')}\n    ]
  }
  ${PROCESSES} {
    imports: ${renderList([
      ...importsFrom(STREAMS, ANSWERED_BY_STREAMS),
      ...delivered.map((subject) => ({ stream: { account: STREAMS, subject } })),
      ...importsFrom(SYSTEM, ANSWERED_BY_SYSTEM),
    ])}
    users: [\n${processes.map(renderUser).join('\n')}\n    ]
  }
  ${SUBSCRIBERS_ACCOUNT} {
    limits: { max_connections: ${MAX_SUBSCRIBER_CONNECTIONS} }
    imports: ${renderList(importsFrom(STREAMS, ANSWERED_TO_SUBSCRIBERS))}
  }
  ${SYSTEM} {
    exports: ${renderList(exportsTo(PROCESSES, ANSWERED_BY_SYSTEM))}
  }
}
${renderCallout(processes)}`;
}

function exportsTo(account: string, answers: readonly StreamsAnswer[]): object[] {
  return answers.map(({ subject, to: _to, ...as }) => ({ service: subject, accounts: [account], ...as }));
}

function importsFrom(account: string, answers: readonly StreamsAnswer[]): object[] {
  return answers.map(({ subject, to }) => ({ service: { account, subject }, ...(to === undefined ? {} : { to }) }));
}

/**
 * Of whom the server knows nothing it asks, in the account of the processes. Those that it knows do not depend on that: it asks for the account of subscribers alone, in
 * which there is nobody. https://docs.nats.io/running-a-nats-service/configuration/securing_nats/auth_callout
 */
function renderCallout(processes: readonly NatsUser[]): string {
  const asked = processes.filter(admits);
  const issuer = asked.find((user) => user.issuer !== undefined)?.issuer;
  if (issuer === undefined) return '';
  return `authorization {
  auth_callout {
    issuer: ${JSON.stringify(issuer)}
    account: ${PROCESSES}
    auth_users: ${JSON.stringify(asked.map(({ publicKey }) => publicKey))}
    allowed_accounts: [${SUBSCRIBERS_ACCOUNT}]
  }
}
`;
}

function admits({ role }: Holder): boolean {
  return role !== 'operator' && rowOf(role).nats.admits === true;
}

function renderList(items: readonly object[]): string {
  return `[\n${items.map((item) => `      ${JSON.stringify(item)}`).join('\n')}\n    ]`;
}

function renderUser(user: NatsUser): string {
  const { publish, subscribe, neverPublish } = permissionsOf(user);
  const deny = neverPublish ? `, deny: ${JSON.stringify(neverPublish)}` : '';
  const responses = answers(user.role) ? `\n        allow_responses: ${answerPermission(user.role)}` : '';
  return `    {
      nkey: ${JSON.stringify(user.publicKey)}
      permissions: {
        publish: { allow: ${JSON.stringify(publish)}${deny} }
        subscribe: { allow: ${JSON.stringify(subscribe)} }${responses}
      }
    }`;
}

function permissionsOf(user: NatsUser): Permissions {
  const inbox = `${inboxPrefix(user)}.>`;
  if (user.role === 'operator')
    return { publish: OPERATOR_REQUESTS, neverPublish: NOT_OF_OPERATOR, subscribe: [inbox] };
  const caller: Caller = { role: user.role, credential: user.credential };
  const called = ALL_RPCS.filter((rpc) => rpc.callers.includes(caller.role));
  const answered = ALL_RPCS.filter((rpc) => rpc.service === caller.role);
  const askedOfReplicas = REPLICA_RPCS.filter((rpc) => rpc.callers.includes(caller.role));
  const answeredAlone = REPLICA_RPCS.filter((rpc) => rpc.service === caller.role);
  const { events, audits, consumes = [], subscribers, admits: lets, writes, reads } = rowOf(caller.role).nats;
  return {
    publish: [
      ...called.map((rpc) => rpcPublishPermission(rpc, caller)),
      ...askedOfReplicas.map((rpc) => replicaPublishPermission(rpc, caller)),
      ...(audits ? [auditSubject(caller.credential)] : []),
      ...(events ? [`fairlead.events.*.${tellerOf(caller)}.>`] : []),
      ...writes.map((keys) => `$KV.${subjectOf(keys, caller)}`),
      ...reads.flatMap((keys) => watchPermissions(keys, caller)),
      ...consumes.flatMap((stream) => consumePermissions(STREAM_NAMES[stream], caller)),
      ...(subscribers ? SUBSCRIBERS_REQUESTS : []),
      ...(lets ? [CONNECTIONS_REQUEST, cutRequest('*')] : []),
    ],
    // The second word is the queue group: without it an instance could listen beside the others and see everything.
    subscribe: [
      inbox,
      ...answered.map((rpc) => `${rpcPattern(rpc)} ${rpc.service}`),
      ...answeredAlone.map((rpc) => replicaPattern(rpc, caller.credential)),
      ...(lets ? [`${ADMISSION_SUBJECT} ${caller.role}`] : []),
    ],
    ...(subscribers ? { neverPublish: NOT_OF_SUBSCRIBERS } : {}),
  };
}

/**
 * To lay out our streams, and to read the events. No subject of a bucket is among them; but whoever says how a stream is laid out can have it take and pass on what they like,
 * so that this credential is worth as much as the server itself (docs/security.md).
 */
const OPERATOR_REQUESTS: readonly string[] = [
  '$JS.API.INFO',
  ...[EVENT_STREAM, AUDIT_STREAM, ...Object.values(BUCKETS).map((bucket) => `KV_${bucket}`)].flatMap((stream) =>
    ['CREATE', 'UPDATE', 'DELETE', 'INFO'].map((request) => `$JS.API.STREAM.${request}.${stream}`),
  ),
  `$JS.API.STREAM.MSG.GET.${EVENT_STREAM}`,
  `$JS.API.CONSUMER.CREATE.${EVENT_STREAM}`,
  ...['CREATE', 'INFO', 'DELETE', 'MSG.NEXT'].map((request) => `$JS.API.CONSUMER.${request}.${EVENT_STREAM}.>`),
  // Only those that are laid out.
  ...CONSUMERS.flatMap(({ stream, durable }) =>
    ['CREATE', 'INFO'].map((request) => `$JS.API.CONSUMER.${request}.${stream}.${durable}`),
  ),
];

/** It reads events by consumers of its own: what it took from the audit's would be in no log. */
const NOT_OF_OPERATOR: readonly string[] = CONSUMERS.flatMap(({ stream, durable }) =>
  ['MSG.NEXT', 'DELETE'].map((request) => `$JS.API.CONSUMER.${request}.${stream}.${durable}`),
);

/** To make, change, list and remove consumers of the events: which of them is whose, no pattern of subjects can say. */
const SUBSCRIBERS_REQUESTS: readonly string[] = [
  `${STREAMS_API}.CONSUMER.CREATE.${EVENT_STREAM}.*`,
  `${STREAMS_API}.CONSUMER.DELETE.${EVENT_STREAM}.*`,
  `${STREAMS_API}.CONSUMER.NAMES.${EVENT_STREAM}`,
];

/** The operator lays these out. */
const NOT_OF_SUBSCRIBERS: readonly string[] = CONSUMERS.filter(({ stream }) => stream === EVENT_STREAM).flatMap(
  ({ stream, durable }) =>
    ['CREATE', 'DELETE'].map((request) => `${STREAMS_API}.CONSUMER.${request}.${stream}.${durable}`),
);

/** `<bucket>.<keys>`, as a NATS subject. */
function subjectOf(keysOf: KeysOf, { credential }: Caller): string {
  const [bucket, keys] = typeof keysOf === 'string' ? [keysOf, '>'] : keysOf;
  return `${BUCKETS[bucket]}.${keys.replaceAll('{credential}', credential)}`;
}

/** What `watchBucket` needs: to make a consumer that delivers this bucket, and to answer its flow control. */
function watchPermissions(keysOf: KeysOf, caller: Caller): string[] {
  const stream = `KV_${BUCKETS[bucketOf(keysOf)]}`;
  return [`${STREAMS_API}.CONSUMER.CREATE.${stream}.*.$KV.${subjectOf(keysOf, caller)}`, `$JS.FC.${stream}.>`];
}

/** What `StreamConsumer` needs: to ask the role's consumer for its next messages, and to say what became of them. */
function consumePermissions(stream: string, { role }: Caller): string[] {
  return [nextMessageSubject(stream, role), `$JS.ACK.${stream}.${role}.>`];
}

/** Who answers may answer each request once, to the inbox that the request named, for as long as any of its callers waits. */
function answerPermission(role: Role | 'operator'): string {
  const waits = ANSWERED.filter((rpc) => rpc.service === role).map(({ timeoutMs }) => timeoutMs);
  const longestMs = Math.max(MIN_ANSWER_MS, ...waits);
  return `{ max: 1, expires: "${Math.ceil(longestMs / 1_000)}s" }`;
}

function answers(role: Role | 'operator'): boolean {
  return ANSWERED.some((rpc) => rpc.service === role);
}
