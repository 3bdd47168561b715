import {
  BUCKETS,
  gitKeysRpc,
  gitopsRpc,
  keysRpc,
  registrationRpc,
  rpcPattern,
  rpcPublishPermission,
  type Bucket,
  type Caller,
  type Role,
  type Rpc,
} from '@fairlead/contracts';
import { assertNever } from '@fairlead/errors';
import { inboxPrefix, type Holder } from '../connection/inbox.js';
import { EVENT_STREAM } from './provision-jetstream.js';

export interface NatsUser extends Holder {
  /** nkey, public half. */
  readonly publicKey: string;
}

interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/** Who has events to tell. The API asks others, and they tell. */
const EVENT_SOURCES: ReadonlySet<Role> = new Set(['gateway', 'gitops', 'keys', 'registration']);

const MIN_ANSWER_MS = 30_000;

const ALL_RPCS: readonly Rpc[] = [registrationRpc, keysRpc, gitKeysRpc, gitopsRpc].flatMap((rpcs) =>
  Object.values<Rpc>(rpcs),
);

/**
 * The `authorization` block of a nats-server configuration: each user may do what the contracts give its role, under its
 * own name, and nothing else. What NATS cannot refuse is a foreign reply subject: services check it (`readRequest`), and the
 * owner of a bucket puts right what an acknowledgement overwrote. Syntax: https://docs.nats.io/running-a-nats-service/configuration/securing_nats/authorization
 */
export function natsAuthorization(users: readonly NatsUser[]): string {
  return `authorization {\n  users = [\n${users.map(renderUser).join('\n')}\n  ]\n}\n`;
}

function renderUser(user: NatsUser): string {
  const { publish, subscribe } = permissionsOf(user);
  const responses = isService(user.role) ? `\n        allow_responses: ${answerPermission(user.role)}` : '';
  return `    {
      nkey: ${JSON.stringify(user.publicKey)}
      permissions: {
        publish: { allow: ${JSON.stringify(publish)} }
        subscribe: { allow: ${JSON.stringify(subscribe)} }${responses}
      }
    }`;
}

function permissionsOf(user: NatsUser): Permissions {
  const inbox = `${inboxPrefix(user)}.>`;
  if (user.role === 'operator') return { publish: OPERATOR_REQUESTS, subscribe: [inbox] };
  const caller: Caller = { role: user.role, credential: user.credential };
  const called = ALL_RPCS.filter((rpc) => rpc.callers.includes(caller.role));
  const answered = ALL_RPCS.filter((rpc) => rpc.service === caller.role);
  const { writes, reads } = bucketAccess(caller);
  return {
    publish: [
      ...called.map((rpc) => rpcPublishPermission(rpc, caller)),
      ...(EVENT_SOURCES.has(caller.role) ? [`fairlead.events.*.${caller.role}.>`] : []),
      ...writes,
      ...reads.flatMap(watchPermissions),
    ],
    // The second word is the queue group: without it an instance could listen beside the others and see everything.
    subscribe: [inbox, ...answered.map((rpc) => `${rpcPattern(rpc)} ${rpc.service}`)],
  };
}

/** To lay out our streams, and to read the events. Not to see what a bucket holds, nor to write into any. */
const OPERATOR_REQUESTS: readonly string[] = [
  '$JS.API.INFO',
  ...[EVENT_STREAM, ...Object.values(BUCKETS).map((bucket) => `KV_${bucket}`)].flatMap((stream) =>
    ['CREATE', 'UPDATE', 'DELETE', 'INFO'].map((request) => `$JS.API.STREAM.${request}.${stream}`),
  ),
  `$JS.API.STREAM.MSG.GET.${EVENT_STREAM}`,
  `$JS.API.CONSUMER.CREATE.${EVENT_STREAM}`,
  ...['CREATE', 'INFO', 'DELETE', 'MSG.NEXT'].map((request) => `$JS.API.CONSUMER.${request}.${EVENT_STREAM}.>`),
  `$JS.ACK.${EVENT_STREAM}.>`,
];

/** A bucket, and which of its keys if not all. */
type Read = Bucket | readonly [Bucket, string];

function bucketAccess({ role, credential }: Caller): { writes: string[]; reads: Read[] } {
  switch (role) {
    case 'gateway':
      return {
        writes: ['gateway', 'session'].map((kind) => `$KV.${BUCKETS.routes}.${kind}.${credential}.>`),
        reads: ['routes', 'clusters', 'access', 'clients', 'revocations', 'trust', 'desired'],
      };
    case 'registration':
      return {
        writes: [BUCKETS.clusters, BUCKETS.access, BUCKETS.clients].map((bucket) => `$KV.${bucket}.>`),
        reads: ['routes', 'clusters', 'access', 'clients'],
      };
    case 'keys':
      return {
        writes: [BUCKETS.revocations, BUCKETS.trust, BUCKETS.gitHosts].map((bucket) => `$KV.${bucket}.>`),
        // Heartbeats say which trust bundle a replica holds; who is connected is none of its business. Clusters say which enrolment counts.
        reads: ['revocations', 'trust', 'gitHosts', 'clusters', ['routes', 'gateway.>']],
      };
    case 'gitops':
      return { writes: [`$KV.${BUCKETS.desired}.>`], reads: ['desired', 'clusters', 'gitHosts'] };
    case 'api':
      return { writes: [], reads: [] };
    default:
      return assertNever(role);
  }
}

/** What `watchBucket` needs: to make a consumer that delivers this bucket, and to answer its flow control. */
function watchPermissions(read: Read): string[] {
  const [bucket, keys] = typeof read === 'string' ? [read, '>'] : read;
  const stream = `KV_${BUCKETS[bucket]}`;
  return [`$JS.API.CONSUMER.CREATE.${stream}.*.$KV.${BUCKETS[bucket]}.${keys}`, `$JS.FC.${stream}.>`];
}

/** A service may answer each request once, to the inbox that the request named, for as long as any of its callers waits. */
function answerPermission(role: Role | 'operator'): string {
  const waits = ALL_RPCS.filter((rpc) => rpc.service === role).map(({ timeoutMs }) => timeoutMs);
  const longestMs = Math.max(MIN_ANSWER_MS, ...waits);
  return `{ max: 1, expires: "${Math.ceil(longestMs / 1_000)}s" }`;
}

function isService(role: Role | 'operator'): boolean {
  return ALL_RPCS.some((rpc) => rpc.service === role);
}
