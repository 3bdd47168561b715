import { setTimeout as delay } from 'node:timers/promises';
import {
  AccessEntry,
  BUCKETS,
  TRUST_KEY,
  keysRpc,
  registrationRpc,
  rpcSubject,
  type Caller,
  type Rpc,
} from '@fairlead/contracts';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { Msg, NatsConnection } from '@nats-io/transport-node';
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
import { startSecuredNats, type SecuredNats } from '../testing/secured-nats.js';

const gatewayA = { role: 'gateway', credential: 'gateway-a' } as const;
const gatewayB = { role: 'gateway', credential: 'gateway-b' } as const;
const api = { role: 'api', credential: 'api' } as const;
const registration = { role: 'registration', credential: 'registration' } as const;
const keys = { role: 'keys', credential: 'keys' } as const;
const operator = { role: 'operator', credential: 'operator' } as const;

let scratch: ScratchDir;
let nats: SecuredNats;
const connections = new Map<string, NatsConnection>();
const as = (holder: Holder): NatsConnection => connections.get(holder.credential)!;

beforeAll(async () => {
  scratch = await scratchDir();
  nats = await startSecuredNats(scratch.path);
  for (const holder of [gatewayA, gatewayB, api, registration, keys, operator]) {
    connections.set(holder.credential, await nats.connect(holder));
  }
});
afterAll(async () => {
  await nats?.[Symbol.asyncDispose]();
  await scratch?.[Symbol.asyncDispose]();
});

/** Does the server refuse this subject to this holder? Asked with a request, because a publish is refused silently. */
async function refusesPublish(holder: Holder, subject: string): Promise<boolean> {
  const error: unknown = await as(holder)
    .request(subject, '{}', { timeout: 2_000 })
    .then(
      () => null,
      (cause: unknown) => cause,
    );
  return isPermissionViolation(error);
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

const ALL: readonly Rpc[] = [...Object.values(registrationRpc), ...Object.values(keysRpc)];

describe('calling a service', () => {
  it.each(ALL.map((rpc) => [`${rpc.service}.${rpc.method}`, rpc] as const))('%s: only its callers', async (_, rpc) => {
    for (const caller of [gatewayA, api, registration, keys] satisfies Caller[]) {
      const refused = await refusesPublish(caller, rpcSubject(rpc, 'default', caller));
      expect({ caller: caller.role, refused }).toEqual({
        caller: caller.role,
        refused: !rpc.callers.includes(caller.role),
      });
    }
  });

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
  it.each([gatewayA, gatewayB, api, registration, keys, operator])(
    '$credential hears only its own inbox',
    async (holder) => {
      expect(await refusesSubscribe(holder, `${inboxPrefix(holder)}.x`)).toBe(false);
      const others = [gatewayA, gatewayB, api, registration, keys, operator].filter((other) => other !== holder);
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

  it.each([
    [gatewayA, BUCKETS.clusters],
    [gatewayA, BUCKETS.access],
    [gatewayA, BUCKETS.clients],
    [gatewayA, BUCKETS.trust],
    [registration, BUCKETS.trust],
    [api, BUCKETS.trust],
    [operator, BUCKETS.trust],
    [keys, BUCKETS.routes],
    [registration, BUCKETS.routes],
    [api, BUCKETS.access],
    [api, BUCKETS.clients],
    [keys, BUCKETS.access],
    [operator, BUCKETS.access],
  ])('refuses %o to write %s', async (holder, bucket) => {
    expect(await refusesPublish(holder, `$KV.${bucket}.default.x`)).toBe(true);
  });

  it('lets only readers watch', async () => {
    const create = `$JS.API.CONSUMER.CREATE.KV_${BUCKETS.access}.x.$KV.${BUCKETS.access}.>`;
    expect(await refusesPublish(gatewayA, create)).toBe(false);
    expect(await refusesPublish(api, create)).toBe(true);
    expect(await refusesPublish(keys, create)).toBe(true);
  });

  it('lets keys write the trust bundle, and gateways read it', async () => {
    await putKv(as(keys), BUCKETS.trust, TRUST_KEY, {});
    const watch = watchBucket(as(gatewayA), BUCKETS.trust, z.object({}));
    await watch.loaded;
    expect([...watch.entries()]).toEqual([[TRUST_KEY, {}]]);
    await watch.close();
    const create = `$JS.API.CONSUMER.CREATE.KV_${BUCKETS.trust}.x.$KV.${BUCKETS.trust}.>`;
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
      const create = `$JS.API.CONSUMER.CREATE.KV_${BUCKETS.routes}.x.$KV.${BUCKETS.routes}.${keysRead}`;
      expect({ keysRead, refused: await refusesPublish(keys, create) }).toEqual({ keysRead, refused: true });
    }
    // A filter in the body that is not the subject's is the server's to refuse.
    const filter = `$KV.${BUCKETS.routes}.gateway.>`;
    const config = { name: 'x', filter_subject: `$KV.${BUCKETS.routes}.>`, deliver_subject: 'x', ack_policy: 'none' };
    const body = JSON.stringify({ stream_name: `KV_${BUCKETS.routes}`, config, action: 'create' });
    const subject = `$JS.API.CONSUMER.CREATE.KV_${BUCKETS.routes}.x.${filter}`;
    const answer = await as(keys).request(subject, body, { timeout: 2_000 });
    expect(answer.json<{ error?: unknown }>().error).toBeDefined();
  });

  it.each([gatewayA, api, registration, keys])('refuses $credential every other JetStream request', async (holder) => {
    for (const subject of [
      `$JS.API.STREAM.DELETE.KV_${BUCKETS.routes}`,
      `$JS.API.STREAM.PURGE.KV_${BUCKETS.routes}`,
      `$JS.API.STREAM.UPDATE.KV_${BUCKETS.routes}`,
      `$JS.API.STREAM.CREATE.OTHER`,
      `$JS.API.STREAM.MSG.DELETE.KV_${BUCKETS.routes}`,
      `$JS.API.CONSUMER.DELETE.KV_${BUCKETS.routes}.x`,
      `$JS.API.CONSUMER.CREATE.FAIRLEAD_EVENTS.x.fairlead.events.>`,
      `$JS.API.CONSUMER.CREATE.FAIRLEAD_EVENTS`,
    ]) {
      expect({ subject, refused: await refusesPublish(holder, subject) }).toEqual({ subject, refused: true });
    }
  });
});

describe('events', () => {
  it('lets each role publish its own', async () => {
    const ack = await jetstream(as(gatewayA)).publish('fairlead.events.default.gateway.agent.connected.v1', '{}');
    expect(ack.stream).toBe('FAIRLEAD_EVENTS');
    expect(await refusesPublish(gatewayA, 'fairlead.events.default.keys.certificate.issued.v1')).toBe(true);
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

describe('making JetStream write for the attacker', () => {
  it.each([
    ['a request of the api', rpcSubject(registrationRpc.deleteCluster, 'default', api), 'registration'],
    ['an entry of another bucket', `$KV.${BUCKETS.access}.default.token.forged`, ''],
  ])('does not let a consumer deliver its entries as %s', async (_, subject, group) => {
    const heard: string[] = [];
    const pattern = 'fairlead.rpc.*.registration.delete-cluster.*.*';
    const callback = (error: Error | null, message: Msg): void => void (error ?? heard.push(message.subject));
    const service = as(registration).subscribe(pattern, { queue: 'registration', callback });
    await as(registration).flush();
    await putKv(as(gatewayA), BUCKETS.routes, 'session.gateway-a.forged', { id: 'x', data: { name: 'demo' } });
    await forgeConsumer(subject, group);
    const access = await messagesIn(`KV_${BUCKETS.access}`);
    // Whatever the server would deliver is delivered before it answers a later request on the same connection.
    await as(gatewayA).flush();
    await delay(300);
    expect(heard).toEqual([]);
    expect(await messagesIn(`KV_${BUCKETS.access}`)).toBe(access);
    service.unsubscribe();
  });
});

/**
 * NATS checks no permission on a reply subject, so an acknowledgement can be sent into another bucket. It is never of the
 * attacker's words, readers refuse it, and the bucket's owner writes the entry again as soon as it sees it.
 */
it('lets an acknowledgement land in another bucket, where readers refuse it', async () => {
  const access = watchBucket(as(gatewayB), BUCKETS.access, AccessEntry);
  await access.loaded;
  const before = await messagesIn(`KV_${BUCKETS.access}`);
  const reply = `$KV.${BUCKETS.access}.default.token.x`;
  as(gatewayA).publish(`$KV.${BUCKETS.routes}.session.gateway-a.x`, '{}', { reply });
  await expect.poll(() => messagesIn(`KV_${BUCKETS.access}`)).toBe(before + 1);
  expect([...access.entries()]).toEqual([]);
  await access.close();
});

async function forgeConsumer(deliverSubject: string, group: string): Promise<void> {
  const stream = `KV_${BUCKETS.routes}`;
  const filter = `$KV.${BUCKETS.routes}.>`;
  const config = {
    name: `forged${Date.now()}`,
    filter_subject: filter,
    deliver_subject: deliverSubject,
    ...(group ? { deliver_group: group } : {}),
    ack_policy: 'none',
    deliver_policy: 'all',
  };
  const body = JSON.stringify({ stream_name: stream, config, action: 'create' });
  await as(gatewayA).request(`$JS.API.CONSUMER.CREATE.${stream}.${config.name}.${filter}`, body, { timeout: 2_000 });
}

async function messagesIn(stream: string): Promise<number> {
  const manager = await jetstreamManager(as(operator));
  return (await manager.streams.info(stream)).state.messages;
}
