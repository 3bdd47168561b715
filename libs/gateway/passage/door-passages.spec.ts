import { FairleadError, type ErrorCode } from '@fairlead/errors';
import { Registry, noTracer, type Logger, type Span, type Tracer } from '@fairlead/observability';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { noAudit } from '../audit/audit-trail.js';
import { DEFAULT_DOOR_LIMITS } from '../limits/door-limiter.js';
import type { GatewayEvents, Refusal } from '../reporting/gateway-events.js';
import { createGatewayMetrics } from '../status/gateway-metrics.js';
import { DOOR_NAMES, type DoorName } from './door-table.js';
import { DoorPassages } from './door-passages.js';
import { LiveConnections } from './live-connections.js';
import type { Ending, Identity, Outcome } from './outcome.js';
import type { Arrival, Passage, Registered } from './passage.js';

const identity: Identity = {
  kind: 'user',
  id: 'ann',
  name: 'ann',
  tenantId: 't',
  proof: { kind: 'token', id: 'token-1', of: 'login' },
};
const cluster = { clusterId: 'c1', name: 'shop' };
const arrival: Arrival = {
  address: '192.0.2.1',
  asked: { method: 'GET', cluster: 'shop' },
  caller: undefined,
  span: { name: 'GET' },
};
const way = { tunnelId: 'tunnel-1', via: 'relay', replica: 'gateway-b', connection: 'a secret' } as const;

interface Told {
  readonly lines: { event: string; fields: Record<string, unknown> }[];
  readonly refusals: Refusal[];
  spansEnded: number;
}

function door(name: DoorName, limits = DEFAULT_DOOR_LIMITS, audit = noAudit) {
  const told: Told = { lines: [], refusals: [], spansEnded: 0 };
  const add = (event: string, fields = {}): void => void told.lines.push({ event, fields });
  const logger = { info: add, log: (_level: string, event: string, fields = {}) => add(event, fields) };
  const tracer: Tracer = {
    begin: (...given) => {
      const span = noTracer.begin(...given);
      const recorded: Span = {
        context: span.context,
        recording: true,
        rename: () => undefined,
        set: () => undefined,
        event: () => undefined,
        end: () => void (told.spansEnded += 1),
      };
      return recorded;
    },
  };
  const events = { accessRefused: (refusal: Refusal) => void told.refusals.push(refusal) };
  const registry = new Registry();
  const live = new LiveConnections();
  const passages = new DoorPassages(name, limits, {
    ingress: 'gateway-a',
    events: events as unknown as GatewayEvents,
    metrics: createGatewayMetrics(registry),
    logger: logger as unknown as Logger,
    audit,
    live,
    tracer,
  });
  const counted = async (metric: string): Promise<Record<string, unknown>[]> => {
    const { values } = await (
      registry.getSingleMetric(metric) as unknown as {
        get(): Promise<{ values: { labels: object; value: number }[] }>;
      }
    ).get();
    return values.map(({ labels, value }) => ({ ...labels, value }));
  };
  return { passages, live, told, counted };
}

const registered: Registered = {
  bytes: () => ({ up: 3, down: 5 }),
  heldBytes: () => 0,
  refusedNow: () => null,
  end: () => undefined,
};

/** The stages in the order that each kind of protocol has, and a way to take each. */
const STAGES: Readonly<Record<string, (passage: Passage) => void>> = {
  identify: (passage) => passage.identify(identity),
  admit: (passage) => passage.admit(cluster),
  limit: (passage) => passage.limit(),
  opened: (passage) => {
    void passage.letGo();
    passage.opened({ way });
  },
  register: (passage) => passage.register(registered),
};
const ORDERS = [
  ['identify', 'admit', 'limit', 'opened', 'register'],
  ['identify', 'limit', 'admit', 'opened', 'register'],
];
const CODES: readonly ErrorCode[] = ['FORBIDDEN', 'AGENT_OFFLINE', 'RATE_LIMITED', 'INTERNAL', 'TUNNEL_RESET'];

it('whatever a passage comes to, it is told once and all that it took is given back', async () => {
  const plan = fc.record({
    name: fc.constantFrom(...DOOR_NAMES),
    order: fc.constantFrom(...ORDERS),
    passages: fc.array(
      fc.record({
        reached: fc.integer({ min: 0, max: 5 }),
        fails: fc.option(fc.constantFrom(...CODES)),
        endedBy: fc.option(fc.constantFrom<ErrorCode>('UNAUTHENTICATED', 'CERTIFICATE_REVOKED')),
        asynchronously: fc.boolean(),
      }),
      { minLength: 1, maxLength: 12 },
    ),
  });
  await fc.assert(
    fc.asyncProperty(plan, async ({ name, order, passages: planned }) => {
      // One place only: whoever is left over would refuse the next.
      const one = { ...DEFAULT_DOOR_LIMITS, total: 1, waitingPerIdentity: 1 };
      const { passages, live, told, counted } = door(name, one);
      let answered = 0;
      for (const { reached, fails, endedBy, asynchronously } of planned) {
        const carry = async (passage: Passage): Promise<Ending> => {
          for (const stage of order.slice(0, reached)) STAGES[stage]?.(passage);
          if (asynchronously) await Promise.resolve();
          if (endedBy) for (const connection of live) connection.end(new FairleadError(endedBy, 'its access ended'));
          if (fails) throw new FairleadError(fails, 'it failed');
          return { kind: 'carried', cause: 'COMPLETE', endedBy: passage.endedBy };
        };
        await passages.pass(arrival, carry, () => void (answered += 1));
        expect(live.size).toBe(0);
      }
      expect(told.lines).toHaveLength(planned.length);
      expect(told.spansEnded).toBe(planned.length);
      const failed = planned.filter(({ fails }) => fails !== null);
      expect(answered).toBe(failed.length);
      const causes = told.lines.map(({ fields }) => fields['cause']);
      expect(causes).toEqual(
        planned.map(({ reached, fails, endedBy }) => (reached === 5 && endedBy ? endedBy : (fails ?? 'COMPLETE'))),
      );
      const refusals = await counted('fairlead_gateway_refusals_total');
      expect(refusals.reduce((sum, { value }) => sum + Number(value), 0)).toBe(failed.length);
    }),
    { numRuns: 60 },
  );
});

it.each(DOOR_NAMES)('%s: opens nothing that it has not let go, or whose intent is not on record yet', async (name) => {
  const { promise: recorded, resolve } = Promise.withResolvers<void>();
  const { passages } = door(name, DEFAULT_DOOR_LIMITS, { ...noAudit, intent: () => recorded });
  const carry = async (passage: Passage): Promise<Ending> => {
    for (const stage of ['identify', 'limit', 'admit']) STAGES[stage]?.(passage);
    const open = (): void => passage.opened({ way });
    expect(open).toThrow('letGo');
    const onRecord = passage.letGo();
    expect(open).toThrow('letGo');
    resolve();
    await onRecord;
    open();
    return { kind: 'carried', cause: 'COMPLETE' };
  };
  await passages.pass(arrival, carry, (_passage, { failure }) => expect.unreachable(failure.message));
});

it.each(['admit', 'limit'])('lets nothing go where a door forgot to call %s', async (forgotten) => {
  const { passages, told } = door('connect');
  const carry = async (passage: Passage): Promise<Ending> => {
    for (const stage of ['identify', 'limit', 'admit'].filter((each) => each !== forgotten)) STAGES[stage]?.(passage);
    expect(() => passage.letGo()).toThrow('admitted and limited');
    throw new FairleadError('INTERNAL', 'not let go');
  };
  await passages.pass(arrival, carry, () => undefined);
  expect(told.lines).toHaveLength(1);
});

it('of two tenants, users of one name are limited apart', async () => {
  const perIdentity = { ...DEFAULT_DOOR_LIMITS.perIdentity, connections: 1 };
  const { passages, told } = door('kube-api', { ...DEFAULT_DOOR_LIMITS, perIdentity });
  const { promise: end, resolve } = Promise.withResolvers<Ending>();
  const begin = (tenantId: string): Promise<unknown> => {
    const carry = async (passage: Passage): Promise<Ending> => {
      passage.identify({ ...identity, tenantId });
      passage.limit();
      return await end;
    };
    return passages.pass(arrival, carry, () => undefined);
  };
  const begun = ['t', 'u', 't'].map(begin);
  resolve({ kind: 'answered', status: 200 });
  await Promise.all(begun);
  const refused = told.lines.filter(({ event }) => event === 'kube.request.failed').map(({ fields }) => fields);
  expect(refused).toMatchObject([{ tenantId: 't', cause: 'RATE_LIMITED' }]);
});

it('gives back what it took when telling of it fails, and rejects', async () => {
  const { passages, live, told } = door('connect', { ...DEFAULT_DOOR_LIMITS, total: 1 });
  const carry = (passage: Passage): Promise<Ending> => {
    for (const stage of ['identify', 'limit', 'admit', 'register']) STAGES[stage]?.(passage);
    return Promise.reject(new FairleadError('FORBIDDEN', 'no'));
  };
  told.refusals.push = () => {
    throw new Error('a fault of ours');
  };
  const answer = (): never => expect.unreachable('the peer is told nothing of a fault of ours');
  await expect(passages.pass(arrival, carry, answer)).rejects.toThrow('a fault of ours');
  expect(live.size).toBe(0);
  await expect(passages.pass(arrival, carry, answer)).rejects.toThrow('a fault of ours');
});

it('an allowed passage is told with who asked, how that was proved, which replicas and what went each way', async () => {
  const { passages, told, counted } = door('kube-api');
  const carry = (passage: Passage): Promise<Ending> => {
    for (const stage of ORDERS[0] ?? []) STAGES[stage]?.(passage);
    passage.ask({ route: '/clusters/{cluster}/api/v1/pods' });
    return Promise.resolve({ kind: 'answered', status: 404 });
  };
  await passages.pass(arrival, carry, () => expect.unreachable());
  expect(told.lines).toEqual([
    {
      event: 'kube.request',
      fields: expect.objectContaining({
        user: 'ann',
        tokenId: 'token-1',
        tenantId: 't',
        clusterId: 'c1',
        cluster: 'shop',
        method: 'GET',
        route: '/clusters/{cluster}/api/v1/pods',
        status: 404,
        cause: 'COMPLETE',
        tunnelId: 'tunnel-1',
        via: 'relay',
        replica: 'gateway-b',
        bytesUp: 3,
        bytesDown: 5,
      }) as object,
    },
  ]);
  expect(JSON.stringify(told.lines)).not.toContain('secret');
  expect(told.refusals).toEqual([]);
  expect(await counted('fairlead_gateway_kube_requests_total')).toEqual([{ outcome: '4xx', value: 1 }]);
});

it('counts a wish when it is granted, not when its connection is over, and how long that took here', async () => {
  const { passages, counted } = door('kube-api');
  const results = async () =>
    Object.fromEntries(
      (await counted('fairlead_gateway_connects_total'))
        .filter((each) => each['door'] === 'kube-api')
        .map((each) => [each['result'], each['value']]),
    );
  const none = { ok: 0, failed: 0, offline: 0, refused: 0, target: 0, left: 0 };
  expect(await results()).toEqual(none);
  const carry = async (passage: Passage): Promise<Ending> => {
    for (const stage of ORDERS[0] ?? []) STAGES[stage]?.(passage);
    passage.connected(0);
    expect(await results()).toEqual({ ...none, ok: 1 });
    // Longer than it took at all: no clock tells that.
    passage.connected(3_600_000);
    throw new FairleadError('TUNNEL_RESET', 'the answer broke off');
  };
  await passages.pass(arrival, carry, () => undefined);
  const leave = (passage: Passage): Promise<Ending> => {
    passage.peerLeft();
    return Promise.reject(new FairleadError('TUNNEL_RESET', 'the client went away'));
  };
  await passages.pass(arrival, leave, () => undefined);
  await passages.pass(
    arrival,
    () => Promise.reject(new FairleadError('INTERNAL', 'ours')),
    () => undefined,
  );
  expect(await results()).toEqual({ ...none, ok: 1, left: 1, failed: 1 });
  const added = (await counted('fairlead_gateway_added_seconds')).filter((each) => each['le'] === '+Inf');
  expect(added).toEqual([
    { le: '+Inf', via: 'own', value: 0 },
    { le: '+Inf', via: 'relay', value: 1 },
  ]);
});

it.each([
  ['before anybody let it in', 1, 'FORBIDDEN', 'gateway'],
  ['before its cluster has room for it', 2, 'RATE_LIMITED', 'gateway'],
  ['before it is let go on', 3, 'STATEMENT_STALE', 'gateway'],
  ['because no agent is there', 4, 'AGENT_OFFLINE', 'gateway'],
  ['by the agent', 4, 'TARGET_REFUSED', 'agent'],
] as const)('a failure %s is told with the hop', async (_, reached, code, hop) => {
  const { passages, told } = door('connect');
  const carry = (passage: Passage): Promise<Ending> => {
    for (const stage of (ORDERS[1] ?? []).slice(0, reached)) STAGES[stage]?.(passage);
    return Promise.reject(new FairleadError(code, 'no'));
  };
  await passages.pass(arrival, carry, () => undefined);
  expect(told.lines[0]).toMatchObject({ event: 'connect.refused', fields: { cause: code, hop } });
});

it.each([
  ['before it was let go on', 3, 'refused'],
  ['after that', 4, 'allowed'],
] as const)('what fails %s is on record with the decision', async (_, reached, decision) => {
  const outcomes: Outcome[] = [];
  const { passages } = door('kube-api', DEFAULT_DOOR_LIMITS, {
    ...noAudit,
    outcome: (each) => void outcomes.push(each),
  });
  const carry = (passage: Passage): Promise<Ending> => {
    for (const stage of (ORDERS[0] ?? []).slice(0, reached)) STAGES[stage]?.(passage);
    return Promise.reject(new FairleadError('STATEMENT_STALE', 'sign in again'));
  };
  await passages.pass(arrival, carry, () => undefined);
  expect(outcomes).toMatchObject([{ decision }]);
});

it('whose access ended before anybody answered is told so by the gateway, not by the agent', async () => {
  const { passages, live, told } = door('connect');
  const carry = (passage: Passage): Promise<Ending> => {
    for (const stage of ORDERS[0] ?? []) STAGES[stage]?.(passage);
    for (const connection of live) connection.end(new FairleadError('CERTIFICATE_REVOKED', 'it was revoked'));
    return Promise.reject(new FairleadError('TUNNEL_RESET', 'it was broken off'));
  };
  await passages.pass(arrival, carry, () => undefined);
  expect(told.lines[0]).toMatchObject({ fields: { cause: 'CERTIFICATE_REVOKED', hop: 'gateway' } });
});

it('who was let in, and whose access ended, is told as a refusal at every door', async () => {
  for (const name of DOOR_NAMES) {
    const { passages, live, told } = door(name);
    const carry = (passage: Passage): Promise<Ending> => {
      for (const stage of ORDERS[1] ?? []) STAGES[stage]?.(passage);
      for (const connection of live) connection.end(new FairleadError('CERTIFICATE_REVOKED', 'it was revoked'));
      return Promise.resolve({ kind: 'carried', cause: 'TUNNEL_RESET', endedBy: passage.endedBy });
    };
    await passages.pass(arrival, carry, () => expect.unreachable());
    expect(told.refusals).toMatchObject([{ door: name, code: 'CERTIFICATE_REVOKED', user: 'ann', clusterId: 'c1' }]);
  }
});
