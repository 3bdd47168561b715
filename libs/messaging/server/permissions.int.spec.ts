import {
  ALL_RPCS,
  BUCKETS,
  REPLICA_RPCS,
  ROLES,
  TRUST_KEY,
  auditSubject,
  keysRpc,
  registrationRpc,
  replicaSubject,
  rpcSubject,
  tellerOf,
  type Caller,
  type Rpc,
} from '@fairlead/contracts';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  createRpcClient,
  deleteKv,
  inboxPrefix,
  provisionJetStream,
  putKv,
  watchBucket,
  type Holder,
} from '../index.js';
import { STREAMS_API } from '../kv/bucket-feed.js';
import { connectedNats, gatewayA, gatewayB, operator } from '../testing/secured-nats.js';

const access = { role: 'access', credential: 'access' } as const;
const audit = { role: 'audit', credential: 'audit' } as const;
const api = { role: 'api', credential: 'api' } as const;
const registration = { role: 'registration', credential: 'registration' } as const;
const keys = { role: 'keys', credential: 'keys' } as const;
const gitops = { role: 'gitops', credential: 'gitops' } as const;

let nats: Awaited<ReturnType<typeof connectedNats>>;
const as = (holder: Holder): NatsConnection => nats.as(holder);

beforeAll(async () => {
  nats = await connectedNats([gatewayA, gatewayB, access, audit, api, registration, keys, gitops, operator]);
});
afterAll(() => nats?.[Symbol.asyncDispose]());

/** Does the server refuse this subject to this holder? Asked with a request, because a publish is refused silently. */
async function refusesPublish(holder: Holder, subject: string): Promise<boolean> {
  const error: unknown = await as(holder)
    .request(subject, '{}', { timeout: 20_000 })
    .then(
      () => null,
      (cause: unknown) => cause,
    );
  return isPermissionViolation(error);
}

/** The same of what is answered by nothing, or later: a refusal comes before the answer to whatever is sent after it. */
async function refusesPublishOf(holder: Holder, subject: string): Promise<boolean> {
  const connection = as(holder);
  const asked = connection.request(subject, '{}', { timeout: 1_000 }).then(
    () => false,
    (error: unknown) => isPermissionViolation(error),
  );
  await connection.flush();
  return asked;
}

async function refusesSubscribe(holder: Holder, subject: string, queue?: string): Promise<boolean> {
  const subscription = as(holder).subscribe(subject, { callback: () => undefined, ...(queue ? { queue } : {}) });
  await as(holder).flush();
  const refused = subscription.isClosed();
  subscription.unsubscribe();
  return refused;
}

function isPermissionViolation(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) if (at.name === 'PermissionViolationError') return true;
  return false;
}

const CALLERS: readonly Caller[] = [gatewayA, access, audit, api, registration, keys, gitops];
const named = (rpcs: readonly Rpc[]) => rpcs.map((rpc) => [`${rpc.service}.${rpc.method}`, rpc] as const);

describe('calling a service', () => {
  it('is tried by every role', () => {
    expect(new Set(CALLERS.map(({ role }) => role))).toEqual(new Set(ROLES));
  });

  const expectItsCallers = async (rpc: Rpc, subjectOf: (caller: Caller) => string): Promise<void> => {
    for (const caller of CALLERS) {
      const refused = await refusesPublish(caller, subjectOf(caller));
      expect({ caller: caller.role, refused }).toEqual({
        caller: caller.role,
        refused: !rpc.callers.includes(caller.role),
      });
    }
  };

  it.each(named(ALL_RPCS))('%s: only its callers', (_, rpc) =>
    expectItsCallers(rpc, (caller) => rpcSubject(rpc, 'default', caller)),
  );

  it.each(named(REPLICA_RPCS))('%s of one replica: only its callers', (_, rpc) =>
    expectItsCallers(rpc, (caller) => replicaSubject(rpc, 'default', caller, 'gateway-b')),
  );

  it('refuses to call under the name of another', async () => {
    expect(await refusesPublish(gatewayA, rpcSubject(keysRpc.signGateway, '_', gatewayB))).toBe(true);
    expect(await refusesPublish(gatewayA, rpcSubject(keysRpc.signAgent, 'default', registration))).toBe(true);
    expect(await refusesPublish(api, rpcSubject(registrationRpc.enrol, '_', gatewayA))).toBe(true);
    expect(await refusesPublish(operator, rpcSubject(registrationRpc.deleteCluster, 'default', api))).toBe(true);
  });

  it('tells the caller why', async () => {
    const call = createRpcClient(as(gatewayA), gatewayA).call(keysRpc.signAgent, 'default', {
      clusterId: crypto.randomUUID(),
      generation: 1,
      csr: 'AA==',
    });
    await expect(call).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });
});

describe('listening', () => {
  it.each([gatewayA, gatewayB, access, audit, api, registration, keys, gitops, operator])(
    '$credential hears only its own inbox',
    async (holder) => {
      expect(await refusesSubscribe(holder, `${inboxPrefix(holder)}.x`)).toBe(false);
      const others = [gatewayA, gatewayB, access, audit, api, registration, keys, gitops, operator].filter(
        (other) => other !== holder,
      );
      for (const other of others) expect(await refusesSubscribe(holder, `${inboxPrefix(other)}.>`)).toBe(true);
      for (const subject of ['>', '_INBOX.>', 'fairlead.>', 'fairlead.events.>', '$KV.>', '$JS.>']) {
        expect({ subject, refused: await refusesSubscribe(holder, subject) }).toEqual({ subject, refused: true });
      }
    },
  );

  it('lets a service hear its own requests in its queue group only', async () => {
    const pattern = 'fairlead.rpc.*.keys.sign-agent.*.*';
    expect(await refusesSubscribe(keys, pattern, 'keys')).toBe(false);
    expect(await refusesSubscribe(keys, pattern)).toBe(true);
    expect(await refusesSubscribe(keys, pattern, 'other')).toBe(true);
    expect(await refusesSubscribe(registration, pattern, 'keys')).toBe(true);
    expect(await refusesSubscribe(gatewayA, pattern, 'keys')).toBe(true);
  });
});

describe('buckets', () => {
  const key = (kind: string, credential: string): string => `${kind}.${credential}.1.2`;

  it('lets a gateway write below its own name only', async () => {
    await putKv(as(gatewayA), BUCKETS.routes, key('session', 'gateway-a'), { x: 1 });
    await deleteKv(as(gatewayA), BUCKETS.routes, key('session', 'gateway-a'));
    for (const foreign of [key('session', 'gateway-b'), key('gateway', 'gateway-b'), 'x', 'session.gateway-a']) {
      await expect(putKv(as(gatewayA), BUCKETS.routes, foreign, {})).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      expect(await refusesPublish(gatewayA, `$KV.${BUCKETS.routes}.${foreign}`)).toBe(true);
    }
  });

  const WRITERS = {
    [BUCKETS.routes]: [],
    [BUCKETS.clusters]: ['registration'],
    [BUCKETS.access]: ['access'],
    [BUCKETS.grants]: ['access'],
    [BUCKETS.clients]: ['registration'],
    [BUCKETS.revocations]: ['keys'],
    [BUCKETS.statementRevocations]: ['keys'],
    [BUCKETS.trust]: ['keys'],
    [BUCKETS.desired]: ['gitops'],
    [BUCKETS.gitHosts]: ['keys'],
    [BUCKETS.subscribers]: ['audit'],
  };
  const READERS = {
    [BUCKETS.routes]: ['gateway-a', 'registration'],
    [BUCKETS.clusters]: ['gateway-a', 'registration', 'gitops', 'keys', 'access'],
    [BUCKETS.access]: ['gateway-a', 'access'],
    [BUCKETS.grants]: ['gateway-a', 'access'],
    [BUCKETS.clients]: ['gateway-a', 'registration'],
    [BUCKETS.revocations]: ['gateway-a', 'keys'],
    [BUCKETS.statementRevocations]: ['gateway-a', 'keys'],
    [BUCKETS.trust]: ['gateway-a', 'keys'],
    [BUCKETS.desired]: ['gateway-a', 'gitops'],
    [BUCKETS.gitHosts]: ['gitops', 'keys'],
    [BUCKETS.subscribers]: ['audit', 'keys'],
  };
  const EVERYBODY: Holder[] = [gatewayA, access, audit, registration, keys, gitops, api, operator];

  it.each(Object.values(BUCKETS))('lets only its owner write %s', async (bucket) => {
    for (const holder of EVERYBODY) {
      const refused = await refusesPublish(holder, `$KV.${bucket}.default.x`);
      const may = WRITERS[bucket].includes(holder.credential as never);
      expect({ credential: holder.credential, refused }).toEqual({ credential: holder.credential, refused: !may });
    }
  });

  it.each(Object.values(BUCKETS))('lets only its readers watch %s', async (bucket) => {
    for (const holder of EVERYBODY) {
      const refused = await refusesPublish(holder, `${STREAMS_API}.CONSUMER.CREATE.KV_${bucket}.x.$KV.${bucket}.>`);
      const may = READERS[bucket].includes(holder.credential);
      expect({ credential: holder.credential, refused }).toEqual({ credential: holder.credential, refused: !may });
    }
  });

  it.each([gatewayA, access, audit, api, registration, keys, gitops, operator])(
    'lets $credential read no entry but by watching',
    async (holder) => {
      for (const bucket of Object.values(BUCKETS)) {
        for (const request of [
          'DIRECT.GET',
          'STREAM.MSG.GET',
          'STREAM.MSG.DELETE',
          'STREAM.PURGE',
          'STREAM.SNAPSHOT',
        ]) {
          const subject = `$JS.API.${request}.KV_${bucket}`;
          expect({ subject, refused: await refusesPublish(holder, subject) }).toEqual({ subject, refused: true });
        }
      }
    },
  );

  it('lets keys write the trust bundle, and gateways read it', async () => {
    await putKv(as(keys), BUCKETS.trust, TRUST_KEY, {});
    const watch = watchBucket(as(gatewayA), BUCKETS.trust, z.object({}));
    await watch.loaded;
    expect(watch.get(TRUST_KEY)).toEqual({});
    await watch.close();
    const create = `${STREAMS_API}.CONSUMER.CREATE.KV_${BUCKETS.trust}.x.$KV.${BUCKETS.trust}.>`;
    for (const holder of [registration, api]) expect(await refusesPublish(holder, create)).toBe(true);
  });

  it('shows keys the heartbeats among the routes, and no session', async () => {
    await putKv(as(gatewayA), BUCKETS.routes, key('gateway', 'gateway-a'), {});
    await putKv(as(gatewayA), BUCKETS.routes, key('session', 'gateway-a'), {});
    const watch = watchBucket(as(keys), BUCKETS.routes, z.object({}), { keys: 'gateway.>' });
    await watch.loaded;
    expect([...watch.entries()]).toEqual([[key('gateway', 'gateway-a'), {}]]);
    await watch.close();
    for (const keysRead of ['>', 'session.>', '*.gateway-a.>']) {
      const create = `${STREAMS_API}.CONSUMER.CREATE.KV_${BUCKETS.routes}.x.$KV.${BUCKETS.routes}.${keysRead}`;
      expect({ keysRead, refused: await refusesPublish(keys, create) }).toEqual({ keysRead, refused: true });
    }
    // A filter in the body that is not the subject's is the server's to refuse.
    const filter = `$KV.${BUCKETS.routes}.gateway.>`;
    const config = { name: 'x', filter_subject: `$KV.${BUCKETS.routes}.>`, deliver_subject: 'x', ack_policy: 'none' };
    const body = JSON.stringify({ stream_name: `KV_${BUCKETS.routes}`, config, action: 'create' });
    const subject = `${STREAMS_API}.CONSUMER.CREATE.KV_${BUCKETS.routes}.x.${filter}`;
    const answer = await as(keys).request(subject, body, { timeout: 20_000 });
    expect(answer.json<{ error?: unknown }>().error).toBeDefined();
  });

  it.each([gatewayA, access, audit, api, registration, keys, gitops])(
    'refuses $credential every other JetStream request',
    async (holder) => {
      for (const subject of [
        `$JS.API.STREAM.DELETE.KV_${BUCKETS.routes}`,
        `$JS.API.STREAM.PURGE.KV_${BUCKETS.routes}`,
        `$JS.API.STREAM.UPDATE.KV_${BUCKETS.routes}`,
        `$JS.API.STREAM.CREATE.OTHER`,
        `$JS.API.STREAM.MSG.DELETE.KV_${BUCKETS.routes}`,
        `$JS.API.CONSUMER.DELETE.KV_${BUCKETS.routes}.x`,
        `$JS.API.CONSUMER.CREATE.KV_${BUCKETS.routes}.x.$KV.${BUCKETS.routes}.>`,
        `$JS.API.CONSUMER.CREATE.FAIRLEAD_EVENTS.x.fairlead.events.>`,
        `${STREAMS_API}.CONSUMER.CREATE.FAIRLEAD_EVENTS.x.fairlead.events.>`,
        `$JS.API.CONSUMER.CREATE.FAIRLEAD_EVENTS`,
      ]) {
        expect({ subject, refused: await refusesPublish(holder, subject) }).toEqual({ subject, refused: true });
      }
    },
  );
});

describe('events', () => {
  it('lets each role publish its own', async () => {
    const ack = await jetstream(as(gatewayA)).publish(
      'fairlead.events.default.gateway:gateway-a.agent.connected.v1',
      '{}',
    );
    expect(ack.stream).toBe('FAIRLEAD_EVENTS');
    expect(await refusesPublish(gatewayA, 'fairlead.events.default.keys.certificate.issued.v1')).toBe(true);
  });

  it.each([gatewayA, registration, keys, gitops, api, operator])(
    'lets $credential tell none of another role',
    async (holder) => {
      for (const role of [
        'gateway:gateway-a',
        'gateway:gateway-b',
        'registration',
        'keys',
        'gitops',
        'api',
        'operator',
      ]) {
        const refused = await refusesPublish(holder, `fairlead.events.default.${role}.x.y.v1`);
        const may = role === tellerOf(holder as Caller) && role !== 'api' && role !== 'operator';
        expect({ role, refused }).toEqual({ role, refused: !may });
      }
    },
  );
});

describe('the streams that the audit consumes', () => {
  const EVERYBODY_ELSE = [gatewayA, gatewayB, access, api, registration, keys, gitops];

  it('takes what a gateway spooled from that gateway alone', async () => {
    const ack = await jetstream(as(gatewayA)).publish(auditSubject('gateway-a'), '{}');
    expect(ack.stream).toBe('FAIRLEAD_AUDIT');
    for (const subject of [auditSubject('gateway-b'), auditSubject('audit'), `${auditSubject('gateway-a')}.x`]) {
      expect({ subject, refused: await refusesPublish(gatewayA, subject) }).toEqual({ subject, refused: true });
    }
    for (const holder of [access, audit, api, registration, keys, gitops, operator]) {
      for (const name of [holder.credential, 'gateway-a']) {
        expect(await refusesPublish(holder, auditSubject(name))).toBe(true);
      }
    }
  });

  it.each(['FAIRLEAD_AUDIT', 'FAIRLEAD_EVENTS'])('lets the audit alone ask for the next of %s', async (stream) => {
    const next = `${STREAMS_API}.CONSUMER.MSG.NEXT.${stream}.audit`;
    const acknowledge = `$JS.ACK.${stream}.audit.1.1.1.1700000000000000000.0`;
    for (const subject of [next, acknowledge]) expect(await refusesPublishOf(audit, subject)).toBe(false);
    for (const holder of EVERYBODY_ELSE) {
      for (const subject of [next, acknowledge, `$JS.API.CONSUMER.MSG.NEXT.${stream}.audit`]) {
        const refused = await refusesPublish(holder, subject);
        expect({ subject, by: holder.credential, refused }).toEqual({ subject, by: holder.credential, refused: true });
      }
    }
  });

  it.each(['FAIRLEAD_AUDIT', 'FAIRLEAD_EVENTS'])('lets nobody read or change %s in another way', async (stream) => {
    const prefixes = ['$JS.API', STREAMS_API];
    const requests = [
      `STREAM.MSG.GET.${stream}`,
      `STREAM.MSG.DELETE.${stream}`,
      `STREAM.PURGE.${stream}`,
      `STREAM.DELETE.${stream}`,
      `DIRECT.GET.${stream}`,
      `CONSUMER.CREATE.${stream}.x`,
      `CONSUMER.CREATE.${stream}.audit`,
      `CONSUMER.CREATE.${stream}.x.fairlead.>`,
      `CONSUMER.DELETE.${stream}.audit`,
      `CONSUMER.INFO.${stream}.audit`,
      `CONSUMER.MSG.NEXT.${stream}.x`,
    ];
    for (const holder of [...EVERYBODY_ELSE, audit]) {
      for (const subject of prefixes.flatMap((prefix) => requests.map((request) => `${prefix}.${request}`))) {
        const refused = await refusesPublish(holder, subject);
        // It makes those of subscribers, and not that of itself.
        const may = holder === audit && subject === `${STREAMS_API}.CONSUMER.CREATE.FAIRLEAD_EVENTS.x`;
        expect({ subject, by: holder.credential, refused }).toEqual({ subject, by: holder.credential, refused: !may });
      }
    }
  });

  it('lets the operator lay out the consumer of what is spooled, and read none of it', async () => {
    for (const request of [
      'CONSUMER.MSG.NEXT.FAIRLEAD_AUDIT.audit',
      'STREAM.MSG.GET.FAIRLEAD_AUDIT',
      'STREAM.PURGE.FAIRLEAD_AUDIT',
      'CONSUMER.DELETE.FAIRLEAD_AUDIT.audit',
      'CONSUMER.CREATE.FAIRLEAD_AUDIT.x',
    ]) {
      const subject = `$JS.API.${request}`;
      expect({ subject, refused: await refusesPublish(operator, subject) }).toEqual({ subject, refused: true });
    }
    expect(await refusesPublish(operator, '$JS.ACK.FAIRLEAD_AUDIT.audit.1.1.1.1700000000000000000.0')).toBe(true);
  });
});

describe('the operator', () => {
  it('reads events, removes none of them, and has no stream of its own', async () => {
    for (const request of ['PURGE.FAIRLEAD_EVENTS', 'MSG.DELETE.FAIRLEAD_EVENTS', 'CREATE.OTHER', 'DELETE.OTHER']) {
      const subject = `$JS.API.STREAM.${request}`;
      expect({ subject, refused: await refusesPublish(operator, subject) }).toEqual({ subject, refused: true });
    }
    const manager = await jetstreamManager(as(operator));
    await expect(manager.consumers.add('FAIRLEAD_EVENTS', {})).resolves.toMatchObject({
      stream_name: 'FAIRLEAD_EVENTS',
    });
  });
});

describe('provisioning', () => {
  it('may be repeated', async () => {
    await expect(provisionJetStream(as(operator))).resolves.toBeUndefined();
  });

  it('is refused to services', async () => {
    await expect(provisionJetStream(as(registration))).rejects.toThrow(/[Pp]ermission/);
  });
});
