import { randomUUID } from 'node:crypto';
import { AUDIT_SERVICE_ENTRIES, auditRpc, type AuditEntry } from '@fairlead/contracts';
import { passage, passages } from '@fairlead/contracts/testing';
import { gatewayA, gatewayB, operator } from '@fairlead/messaging/testing';
import { eventually } from '@fairlead/testing';
import { EMPTY_LOG, appendBatch } from '@fairlead/transparency-log';
import { jetstreamManager } from '@nats-io/jetstream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { leafOf } from './domain/leaf.js';
import { lookDown, type LookedThrough } from './feature/look-through.js';
import { appendToTree, type AppendToLog } from './index.js';
import { auditFixture, disconnected, newEpoch, type AuditFixture } from './testing/audit-fixture.js';

const PATIENCE = { timeoutMs: 60_000 };

let audit: AuditFixture;
let running: AsyncDisposable;
let epoch: string;

beforeAll(async () => {
  audit = await auditFixture();
}, 120_000);
afterAll(() => audit?.[Symbol.asyncDispose]());
beforeEach(async () => {
  await audit.empty();
  running = await audit.start();
  epoch = newEpoch();
}, 60_000);
afterEach(async () => {
  await running?.[Symbol.asyncDispose]();
  await checkOwnEntries();
});

const idsOf = (entries: readonly AuditEntry[]): string[] => entries.map(({ body }) => String(body?.['id']));
const ids = (records: readonly { id: string }[]): string[] => records.map(({ id }) => id);
const untilTaken = () => eventually(async () => expect(await audit.waiting()).toBe(0), PATIENCE);
const states = async (): Promise<unknown[]> =>
  (await audit.all({ entry: 'gap' })).map(({ body }) => [body?.['state'], body?.['from'], body?.['to']]);
/** Whatever the service itself said in a test is as docs/audit-records.md has it. */
async function checkOwnEntries(): Promise<void> {
  for (const [kind, schema] of Object.entries(AUDIT_SERVICE_ENTRIES)) {
    const rows = (await audit.database.query('select body from entries where kind = $1', [kind])) as { body: string }[];
    for (const { body } of rows) expect(schema.parse(JSON.parse(body))).toEqual(JSON.parse(body));
  }
}
/** Numbers have no hole, each entry is what its leaf commits to, and the tree is made of the leaves. */
async function checkLog(tenantId = 'default'): Promise<void> {
  const rows = (await audit.database.query(
    'select number, body, nonce, recorded_at from entries where tenant_id = $1 order by number',
    [tenantId],
  )) as { number: string; body: string; nonce: Buffer; recorded_at: Date }[];
  expect(rows.map(({ number }) => Number(number))).toEqual(rows.map((_, at) => at + 1));
  const leaves = rows.map(({ body, nonce }) => leafOf(body, nonce).bytes);
  const [tree] = (await audit.database.query('select size, root from audit_trees where tenant_id = $1', [
    tenantId,
  ])) as { size: string; root: Buffer }[];
  expect(Number(tree?.size)).toBe(rows.length);
  expect(tree?.root).toEqual(Buffer.from(appendBatch(EMPTY_LOG, leaves).root));
  const times = rows.map((row) => row.recorded_at.getTime());
  expect(times).toEqual(times.toSorted((a, b) => a - b));
}

describe('records of a gateway', () => {
  it('become entries once, however often and however late they come again', async () => {
    const records = passages(5);
    const batch = { epoch, firstSeq: 1, records };
    await audit.publish(batch);
    await untilTaken();
    await audit.publish(batch);
    await audit.publish({ epoch, firstSeq: 4, records: [...records.slice(3), passage()] });
    await untilTaken();
    const entries = await audit.all();
    expect(entries).toHaveLength(6);
    expect(idsOf(entries).slice(0, 5)).toEqual(ids(records));
    expect(entries[0]).toMatchObject({
      number: 1,
      kind: 'passage',
      source: 'gateway-a',
      user: 'dana',
      cluster: 'demo',
      action: 'get pods/cart-0 -n shop',
      decision: 'allowed',
    });
    await checkLog();
  });

  it('are taken in whatever order they come, and a hole that is filled in time is none', async () => {
    await running[Symbol.asyncDispose]();
    running = await audit.start({ gapGraceMs: 60_000 });
    const records = passages(9);
    const part = (from: number, to: number) => ({ epoch, firstSeq: from, records: records.slice(from - 1, to) });
    for (const [from, to] of [
      [1, 3],
      [7, 9],
      [4, 6],
      [1, 9],
    ] as const) {
      await audit.publish(part(from, to));
    }
    await untilTaken();
    expect(idsOf(await audit.all()).toSorted()).toEqual(ids(records).toSorted());
    expect(await states()).toEqual([]);
  });

  it('leave a gap that the log tells of, and that they fill when they come after all', async () => {
    await audit.publish({ epoch, firstSeq: 1, records: passages(2) });
    await audit.publish({ epoch, firstSeq: 6, records: passages(1) });
    await eventually(async () => expect(await states()).toEqual([['missing', 3, 5]]), PATIENCE);
    const { producers } = await audit.asApi.call(auditRpc.producers, 'default', {});
    expect(producers).toMatchObject([
      { producer: 'gateway-a', epoch, mark: 6, current: true, gaps: [{ from: 3, to: 5, announced: true }] },
    ]);
    await audit.publish({ epoch, firstSeq: 4, records: passages(2) });
    await untilTaken();
    expect(await states()).toEqual([
      ['missing', 3, 5],
      ['filled', 4, 5],
    ]);
    expect((await audit.all({ entry: 'passage' })).length).toBe(5);
    await checkLog();
  });

  it('of a new spool are announced, and those of another gateway have numbers of their own', async () => {
    await running[Symbol.asyncDispose]();
    running = await audit.start({ gapGraceMs: 5_000 });
    await audit.publish({ epoch, firstSeq: 1, records: passages(3) });
    await audit.publish({ epoch, firstSeq: 1, records: passages(1) }, gatewayB);
    const next = newEpoch();
    await audit.publish({ epoch: next, firstSeq: 1, records: passages(1) });
    // Another instance may have had the last of the old one in hand.
    await audit.publish({ epoch, firstSeq: 4, records: passages(1) });
    const newEpochs = () => audit.all({ entry: 'gap' });
    await eventually(async () => expect(await newEpochs()).toHaveLength(1), PATIENCE);
    expect(await newEpochs()).toMatchObject([
      { body: { state: 'new-epoch', producer: 'gateway-a', epoch: next, previousEpoch: epoch, previousMark: 4 } },
    ]);
    const { producers } = await audit.asApi.call(auditRpc.producers, 'default', {});
    expect(producers.map(({ producer, mark, current }) => [producer, mark, current])).toEqual([
      ['gateway-a', 1, true],
      ['gateway-a', 4, false],
      ['gateway-b', 1, true],
    ]);
  });

  it('of a new spool are not announced where the gateway had stopped and handed on all, and are where it had come back since', async () => {
    const [second, third] = [newEpoch(), newEpoch()];
    const ended = (of: string, firstSeq: number) => audit.publish({ epoch: of, firstSeq, records: [], ends: true });
    await audit.publish({ epoch, firstSeq: 1, records: passages(3) });
    await ended(epoch, 4);
    await ended(epoch, 4);
    await audit.publish({ epoch: second, firstSeq: 1, records: passages(2) });
    await ended(second, 3);
    await audit.publish({ epoch: second, firstSeq: 3, records: passages(1) });
    await audit.publish({ epoch: second, firstSeq: 1, records: passages(2) });
    await audit.publish({ epoch: third, firstSeq: 1, records: passages(1) });
    const announced = async () =>
      (await audit.all({ entry: 'gap' })).map(({ body }) => [body?.['previousEpoch'], body?.['previousMark']]);
    await eventually(async () => expect(await announced()).toEqual([[second, 3]]), PATIENCE);
    const untold = () => audit.database.query('select 1 from producers where untold_after is not null');
    await eventually(async () => expect(await untold()).toEqual([]), PATIENCE);
    expect(await announced()).toEqual([[second, 3]]);
  });

  it('that were handed out before a gateway stopped, and did not come, are missing', async () => {
    await audit.publish({ epoch, firstSeq: 1, records: passages(2) });
    await audit.publish({ epoch, firstSeq: 5, records: [], ends: true });
    await untilTaken();
    const { producers } = await audit.asApi.call(auditRpc.producers, 'default', {});
    expect(producers).toMatchObject([{ mark: 4, gaps: [{ from: 3, to: 4 }] }]);
  });

  it('are kept by tenant, and what is of none belongs to the installation', async () => {
    const records = [passage({ tenantId: 'shop' }), passage({ tenantId: '_' }), passage({ tenantId: 'shop' })];
    await audit.publish({ epoch, firstSeq: 1, records });
    await untilTaken();
    expect((await audit.all({}, 'shop')).map(({ number }) => number)).toEqual([1, 2]);
    expect(idsOf(await audit.all())).toEqual([records[1]!.id]);
    await checkLog('shop');
  });

  it('that nobody can read leave an entry, and take no others with them', async () => {
    const good = passage();
    await audit.publish({ epoch, firstSeq: 1, records: [{ phase: 'outcome', secret: 'hunter2' }, good] });
    await audit.publishBytes('fairlead.audit.gateway-a', '{"epoch":"?"}');
    await audit.publishBytes('fairlead.audit.gateway-a', '{"epoch":"?"}');
    await untilTaken();
    const entries = await audit.all();
    expect(idsOf(entries)).toContain(good.id);
    const unreadable = entries.filter(({ kind }) => kind === 'unreadable');
    expect(unreadable.map(({ body }) => body)).toEqual([
      expect.objectContaining({ producer: 'gateway-a', epoch, seq: 1 }),
      expect.objectContaining({ subject: 'fairlead.audit.gateway-a', bytes: 13 }),
    ]);
    expect(JSON.stringify(entries)).not.toContain('hunter2');
  });

  it('that were lost, or that nobody can read, every tenant is told of, as they may have been its own', async () => {
    const lost = (said: object) => ({ phase: 'lost', at: new Date().toISOString(), why: 'the spool is full', ...said });
    const told = async (tenantId: string) =>
      (await audit.all({}, tenantId)).flatMap(({ kind, body }) =>
        kind === 'passage' ? [] : [[kind, body?.['count']]],
      );
    await audit.publish({ epoch, firstSeq: 1, records: [passage({ tenantId: 'shop' })] });
    await untilTaken();
    const batch = {
      epoch,
      firstSeq: 2,
      records: [
        lost({ count: 40 }),
        { phase: 'outcome' },
        lost({ count: 2, tenantId: 'default', what: 'records' }),
        // These are of somebody.
        lost({ count: 7, tenantId: '_', what: 'refusals' }),
        lost({ count: 8, tenantId: 'default', what: 'refusals', user: 'dana' }),
        lost({ count: 9, tenantId: 'shop', what: 'refusals', user: 'ann' }),
        passage({ tenantId: 'new' }),
      ],
    };
    await audit.publish(batch);
    await audit.publish(batch);
    await untilTaken();
    expect(await told('default')).toEqual([
      ['lost', 40],
      ['unreadable', undefined],
      ['lost', 2],
      ['lost', 7],
      ['lost', 8],
    ]);
    expect(await told('shop')).toEqual([
      ['lost', 9],
      ['lost', 42],
      ['unreadable', 1],
    ]);
    expect(await told('new')).toEqual([
      ['lost', 42],
      ['unreadable', 1],
    ]);
    expect(await audit.all({ entry: 'lost', user: 'ann' }, 'shop')).toMatchObject([{ body: { count: 9 } }]);
    await checkLog('shop');
  });

  it('may hold characters that a database does not', async () => {
    const odd = passage({ cluster: 'a\u0000b\u001fc', target: '\ud800' });
    await audit.publish({ epoch, firstSeq: 1, records: [odd] });
    await untilTaken();
    expect(await audit.all()).toMatchObject([{ cluster: 'a\ufffdb\u001fc', body: { cluster: odd.cluster } }]);
    await checkLog();
  });
});

describe('events', () => {
  it('become entries once, by their id', async () => {
    const event = disconnected();
    await audit.publishEvent(event);
    await audit.publishEvent(event);
    await audit.publishEvent(disconnected());
    await eventually(async () => expect(await audit.all({ type: 'agent.disconnected' })).toHaveLength(2), PATIENCE);
    await audit.publishEvent(event);
    await audit.publishEvent(disconnected());
    await eventually(async () => expect(await audit.all({ entry: 'event' })).toHaveLength(3), PATIENCE);
    expect(await audit.all({ entry: 'event' })).toMatchObject([
      { source: 'gateway-a', body: { id: event.id } },
      {},
      {},
    ]);
  });

  it('that the stream dropped before they were taken leave a gap in every log', async () => {
    await audit.publish({ epoch, firstSeq: 1, records: [passage({ tenantId: 'shop' })] });
    await audit.publishEvent(disconnected());
    await eventually(async () => expect(await audit.all({ entry: 'event' })).toHaveLength(1), PATIENCE);
    await running[Symbol.asyncDispose]();
    const { streams, consumers } = await jetstreamManager(await audit.nats.connect(operator));
    // What NATS hands to a process that is gone comes again, half a minute later: it has to know that it is.
    await eventually(async () =>
      expect(await consumers.info('FAIRLEAD_EVENTS', 'audit')).toMatchObject({ num_waiting: 0 }),
    );
    const { last_seq: last } = (await streams.info('FAIRLEAD_EVENTS')).state;
    for (const _ of [1, 2, 3]) await audit.publishEvent(disconnected());
    await streams.update('FAIRLEAD_EVENTS', { max_msgs: 1 });
    await streams.update('FAIRLEAD_EVENTS', { max_msgs: -1 });
    await audit.publishBytes(disconnected().subject, 'no event');
    running = await audit.start();
    for (const tenantId of ['default', 'shop']) {
      await eventually(async () => {
        const gaps = (await audit.all({ entry: 'gap' }, tenantId)).map(({ body }) => body);
        expect(gaps).toMatchObject([{ state: 'missing', producer: 'FAIRLEAD_EVENTS', from: last + 1, to: last + 2 }]);
      }, PATIENCE);
    }
    expect(await audit.all({ entry: 'event' })).toHaveLength(2);
    expect(await audit.all({ entry: 'unreadable' })).toHaveLength(1);
    expect((await audit.asApi.call(auditRpc.producers, 'default', {})).producers).toMatchObject([
      { producer: 'gateway-a' },
    ]);
  });

  it('that say another teller or tenant than NATS vouches for are none', async () => {
    const { subject, body } = disconnected();
    await audit.publishBytes(subject, body.replace('/fairlead/gateway/', '/fairlead/keys/'));
    await audit.publishBytes(subject, body.replace('/fairlead/gateway/gateway-a', '/fairlead/gateway/gateway-b'));
    await audit.publishBytes(subject.replace('.default.', '.shop.'), body);
    await audit.publishBytes(subject, 'no event');
    await eventually(async () => expect(await audit.all({ entry: 'unreadable' })).toHaveLength(4), PATIENCE);
    expect(await audit.all({ entry: 'event' })).toEqual([]);
  });
});

describe('intents', () => {
  it('become unknown when their gateway is gone, and not while it lives', async () => {
    await running[Symbol.asyncDispose]();
    // Longer than a busy machine lets a beat wait.
    running = await audit.start({ gatewaySilenceMs: 5_000 });
    const began = new Date();
    const instance = randomUUID();
    await audit.beat(gatewayA, 1, began, instance);
    const intent = { phase: 'intent', kind: 'exec', status: 0, cause: 'OPEN' } as const;
    const [open, ended] = [passage(intent), passage(intent)];
    await audit.publish({ epoch, firstSeq: 1, records: [open, ended] });
    await audit.publish({ epoch, firstSeq: 3, records: [{ ...ended, phase: 'outcome', cause: 'COMPLETE' }] });
    for (let beat = 2; beat < 26; beat += 1) {
      await audit.beat(gatewayA, beat, began, instance);
      // More often than the silence that is taken for its end, and for longer than that altogether: nothing else tells that it was not.
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(await audit.all({ entry: 'unknown' })).toEqual([]);
    }
    // A new process of the same name says nothing of what the one before began. One that was killed is followed within seconds.
    const later = randomUUID();
    for (let beat = 1; (await audit.all({ entry: 'unknown' })).length === 0; beat += 1) {
      expect(beat).toBeLessThan(100);
      await audit.beat(gatewayA, beat, new Date(began.getTime() + 3_000), later);
      // It beats as a gateway does.
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect(await audit.all({ entry: 'unknown' })).toMatchObject([
      { user: 'dana', cluster: 'demo', body: { passageId: open.id, intent: 1, producer: 'gateway-a' } },
    ]);
    expect((await audit.all({ id: open.id })).map(({ kind }) => kind)).toEqual(['passage', 'unknown']);
  }, 60_000);
});

describe('intents of a gateway that lives', () => {
  it('become unknown where it says that it lost how they ended', async () => {
    await running[Symbol.asyncDispose]();
    // For so long of silence no gateway is taken for gone.
    running = await audit.start({ gatewaySilenceMs: 600_000 });
    const at = new Date(Date.now() - 3_600_000).toISOString();
    const intent = { phase: 'intent', kind: 'exec', status: 0, cause: 'OPEN', at } as const;
    const [open, over, others] = [passage(intent), passage(intent), passage(intent)];
    await audit.publish({ epoch: newEpoch(), firstSeq: 1, records: [others] }, gatewayB);
    await untilTaken();
    // Nobody can say that of another one's.
    const lost = { phase: 'lost', at, tenantId: 'default', count: 3, why: 'full', passages: [others.id, over.id] };
    await audit.publish({ epoch, firstSeq: 1, records: [open, over, lost] });
    const settled = async () => (await audit.all({ entry: 'unknown' })).map(({ body }) => body?.['passageId']);
    await eventually(async () => expect(await settled()).toEqual([over.id]), PATIENCE);
    const left = (await audit.database.query('select passage_id as id from open_intents where not lost')) as {
      id: string;
    }[];
    expect(new Set(left.map(({ id }) => id))).toEqual(new Set([open.id, others.id]));
  });
});

describe('intents of a gateway that is gone', () => {
  it('become unknown although another gateway says how they ended', async () => {
    const intent = { phase: 'intent', kind: 'exec', status: 0, cause: 'OPEN' } as const;
    const forged = { phase: 'outcome', cause: 'COMPLETE', status: 200 } as const;
    const at = new Date(Date.now() - 60_000).toISOString();
    const [open, late] = [passage({ ...intent, at }), passage({ ...intent, at })];
    const lies = [open, late].map((each) => ({ ...each, ...forged }));
    await audit.publish({ epoch: newEpoch(), firstSeq: 1, records: lies }, gatewayB);
    await audit.publish({ epoch, firstSeq: 1, records: [open] });
    // Behind a gap, a late intent is looked for among what is in the log already.
    await audit.publish({ epoch, firstSeq: 3, records: passages(1) });
    await audit.publish({ epoch, firstSeq: 2, records: [late] });
    await eventually(async () => {
      const settled = (await audit.all({ entry: 'unknown' })).map(({ body }) => String(body?.['passageId']));
      expect(settled.toSorted()).toEqual([open.id, late.id].toSorted());
    }, PATIENCE);
  }, 60_000);

  it('are found behind those of others, however many tunnels are open', async () => {
    await running[Symbol.asyncDispose]();
    // Longer than this process stands still, mostly: where it does, those of the living are settled first, one by one.
    running = await audit.start({ gatewaySilenceMs: 3_000 });
    const [instance, began] = [randomUUID(), new Date(Date.now() - 60_000)];
    const beats = setInterval(() => void audit.beat(gatewayA, Date.now(), began, instance), 300);
    const intent = { phase: 'intent', kind: 'tunnel', status: 0, cause: 'OPEN' } as const;
    try {
      for (let at = 0; at < 3; at += 1) {
        const open = passages(200, { ...intent, at: new Date(began.getTime() + 5_000).toISOString() });
        await audit.publish({ epoch, firstSeq: at * 200 + 1, records: open });
      }
      const orphan = passage({ ...intent, at: new Date(began.getTime() + 30_000).toISOString() });
      await audit.publish({ epoch: newEpoch(), firstSeq: 1, records: [orphan] }, gatewayB);
      await eventually(async () => {
        const settled = (await audit.all({ entry: 'unknown' })).map(({ body }) => body?.['passageId']);
        expect(settled).toContain(orphan.id);
      }, PATIENCE);
    } finally {
      clearInterval(beats);
    }
  }, 60_000);
});

/** With entries that nobody handed on, as it takes minutes to hand on so many. */
async function fillLog(size: number): Promise<void> {
  // In pieces, each of which takes less than a statement may on a busy machine.
  const piece = 15_000;
  for (let from = 1; from <= size; from += piece) await insertEntries(from, Math.min(size, from + piece - 1));
  await audit.database.query(
    `insert into segments (tenant_id, day, first_number, last_number) values ('default', (now() at time zone 'UTC')::date, 1, $1)`,
    [size],
  );
  await audit.database.query(
    `insert into tenant_logs (tenant_id, size, last_recorded_at) values ('default', $1, now())`,
    [size],
  );
}

async function insertEntries(from: number, to: number): Promise<void> {
  await audit.database.query(
    `insert into entries (tenant_id, number, recorded_at, at, kind, source, user_name, cluster, action, decision, facets)
     select 'default', n, now(), now(), 'passage', 'gateway-a', '', '', '', 'allowed',
            array['verb=get'] || case when n in (1, 7, 20000) then array['user=rare'] else '{}' end
                              || case when n <= 30000 then array['cluster=early'] else '{}' end
       from generate_series($1::bigint, $2::bigint) n`,
    [from, to],
  );
}

describe('a log', () => {
  it('is searched by all that is said, newest first and page by page', async () => {
    const exec = { kind: 'exec', resource: { ...passage().resource!, verb: 'create', subresource: 'exec' } } as const;
    const records = [
      passage(),
      passage({ ...exec, cluster: 'production', at: '2026-01-10T10:00:00.000Z' }),
      passage({ decision: 'refused', status: 403, cause: 'FORBIDDEN' }),
      passage({ ...exec, target: 'Special Words' }),
    ];
    await audit.publish({ epoch, firstSeq: 1, records });
    await untilTaken();
    const found = async (filter: object) =>
      (await audit.asApi.call(auditRpc.search, 'default', filter)).entries.map(({ number }) => number);
    expect(await found({})).toEqual([4, 3, 2, 1]);
    expect(await found({ kind: 'exec' })).toEqual([4, 2]);
    expect(await found({ kind: 'exec', cluster: 'production' })).toEqual([2]);
    expect(await found({ decision: 'refused' })).toEqual([3]);
    expect(await found({ verb: 'get', resource: 'pods', namespace: 'shop', user: 'dana', door: 'kube-api' })).toEqual([
      3, 1,
    ]);
    expect(await found({ from: '2026-01-10T00:00:00.000Z', to: '2026-01-11T00:00:00.000Z' })).toEqual([2]);
    expect(await found({ text: 'words SPECIAL' })).toEqual([4]);
    expect(await found({ text: 'spec' })).toEqual([]);
    const { proof, session } = records[3]!.identity!;
    expect(await found({ proof: proof.id })).toEqual([4]);
    expect(await found({ proof: session })).toEqual([4]);
    expect(await found({ trace: records[1]!.traceId })).toEqual([2]);
    expect(await found({ id: records[2]!.id, status: 403 })).toEqual([3]);
    expect(await found({ id: records[2]!.id, status: 200 })).toEqual([]);
    expect(await found({ cluster: records[0]!.clusterId!, address: '127.0.0.1' })).toEqual([1]);
    expect(await found({ address: '127.0.0.2' })).toEqual([]);
    const first = await audit.asApi.call(auditRpc.search, 'default', { limit: 3 });
    expect(first).toMatchObject({ next: 2 });
    expect(await found({ limit: 3, after: first.next })).toEqual([1]);
    await expect(found({ text: '--' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('is searched whole however long it is: what is rare, what is old, and what is everywhere', async () => {
    const size = 150_000;
    const old = new Set([1, 7, 20_000]);
    await fillLog(size);
    const pages = async (filter: object): Promise<number[]> => {
      const numbers: number[] = [];
      for (let after: number | undefined; ;) {
        const page = await audit.asApi.call(auditRpc.search, 'default', { ...filter, limit: 200, after });
        numbers.push(...page.entries.map(({ number }) => number));
        if (page.next === undefined) return numbers;
        expect(page.next).toBeLessThan(after ?? Infinity);
        after = page.next;
      }
    };
    expect(await pages({ user: 'rare' })).toEqual([...old].toSorted((one, other) => other - one));
    expect(await pages({ user: 'nobody' })).toEqual([]);
    const early = await pages({ cluster: 'early' });
    expect([early.length, early[0], early.at(-1)]).toEqual([30_000, 30_000, 1]);
    // The index takes too long, and time is up after each look.
    const window = { tenantId: 'default', filter: { cluster: 'early' }, limit: 10 };
    const looks: LookedThrough[] = [];
    for (
      let upTo = size;
      looks.length < 50 && (looks.at(-1)?.entries.length ?? 0) === 0;
      upTo = looks.at(-1)!.through - 1
    ) {
      looks.push(await lookDown(audit.database, window, upTo, { enoughMs: -1, byFacetsMs: 1 }));
    }
    expect(looks.length).toBeGreaterThan(1);
    expect(looks.at(-1)?.entries.map(({ number }) => number)).toEqual(
      Array.from({ length: 10 }, (_, at) => 30_000 - at),
    );
    const newest = await audit.asApi.call(auditRpc.search, 'default', { verb: 'get', limit: 3 });
    expect(newest.entries.map(({ number }) => number)).toEqual([size, size - 1, size - 2]);
    const all = await audit.all({ user: 'rare' });
    expect(all.map(({ number }) => number)).toEqual([...old]);
    expect(await audit.all({ user: 'rare', from: new Date(Date.now() + 7_200_000).toISOString() })).toEqual([]);
  }, 120_000);

  it('tells who was turned away, by a gateway or by whoever is beyond it, and finds all about one passage', async () => {
    const exec = passage({ kind: 'exec', status: 0, cause: 'OPEN', phase: 'intent' });
    const records = [
      passage(),
      passage({ decision: 'refused', status: 404, cause: 'NOT_FOUND' }),
      // By the cluster's own rights, and by the policy of its agent.
      passage({ status: 403 }),
      passage({ status: 403, cause: 'TARGET_REFUSED' }),
      passage({ status: 404 }),
      exec,
      { ...exec, phase: 'outcome' as const, status: 401 },
    ];
    await audit.publish({ epoch, firstSeq: 1, records });
    await untilTaken();
    const found = async (filter: object) =>
      (await audit.asApi.call(auditRpc.search, 'default', filter)).entries.map(({ number }) => number);
    expect(await found({ refused: 'anywhere' })).toEqual([7, 4, 3, 2]);
    expect(await found({ refused: 'door' })).toEqual([2]);
    expect(await found({ refused: 'beyond' })).toEqual([7, 4, 3]);
    expect(await found({ refused: 'anywhere', kind: 'exec' })).toEqual([7]);
    expect(await found({ id: exec.id })).toEqual([7, 6]);
    expect(await found({ id: exec.id, refused: 'anywhere' })).toEqual([7]);
  });

  it('shows one entry, and tells what is older than kept from what is not there', async () => {
    await audit.publish({ epoch, firstSeq: 1, records: passages(2) });
    await untilTaken();
    const get = (number: number) => audit.asApi.call(auditRpc.get, 'default', { number });
    expect(await get(2)).toMatchObject({ number: 2 });
    await expect(get(3)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await running[Symbol.asyncDispose]();
    // Whole days go: this one is over in 500 days.
    const later = new Date(Date.now() + 500 * 86_400_000);
    running = await audit.start({}, { now: () => later });
    await eventually(async () => await expect(get(2)).rejects.toMatchObject({ code: 'GONE' }), PATIENCE);
    await audit.publish({ epoch, firstSeq: 3, records: passages(1) });
    await untilTaken();
    const statement = { statement: 'retention', first: 1, last: 2, size: 2 };
    expect(await audit.all()).toMatchObject([{ number: 3, kind: 'retention', body: statement }, { number: 4 }]);
  });
});

describe('what breaks', () => {
  it('takes nothing twice and loses nothing while Postgres is killed again and again', async () => {
    const batches = Array.from({ length: 30 }, (_, at) => ({ epoch, firstSeq: at * 20 + 1, records: passages(20) }));
    const killing = (async () => {
      for (let kill = 0; kill < 2; kill += 1) {
        // So that it dies among the batches, and not before them.
        await new Promise((resolve) => setTimeout(resolve, 100));
        audit.postgres.kill('SIGKILL');
        await audit.postgres.restart();
      }
    })();
    for (const batch of batches) await audit.publish(batch);
    await killing;
    await untilTaken();
    await eventually(async () => {
      const entries = await audit.all({ entry: 'passage' });
      expect(idsOf(entries).toSorted()).toEqual(batches.flatMap(({ records }) => ids(records)).toSorted());
    }, PATIENCE);
    await checkLog();
  }, 120_000);

  it('takes a batch whole or not at all, and once with several instances', async () => {
    await running[Symbol.asyncDispose]();
    let failures = 0;
    // The process dies after its entries are written and before they are committed, several times.
    const dies: AppendToLog = async (...appended) => {
      await appendToTree(...appended);
      failures += 1;
      if (failures < 4) throw new Error('died in the middle');
    };
    running = await audit.start({}, { appendToLog: dies });
    await using _second = await audit.start();
    const batches = Array.from({ length: 20 }, (_, at) => ({ epoch, firstSeq: at * 5 + 1, records: passages(5) }));
    for (const batch of batches) await audit.publish(batch);
    await untilTaken();
    expect(failures).toBeGreaterThan(3);
    const entries = await audit.all({ entry: 'passage' });
    expect(idsOf(entries).toSorted()).toEqual(batches.flatMap(({ records }) => ids(records)).toSorted());
    await checkLog();
  }, 120_000);

  it('goes on after the transaction of a process that ended right before it acknowledged', async () => {
    const records = passages(50);
    await audit.publish({ epoch, firstSeq: 1, records });
    await untilTaken();
    // As if the acknowledgement had been lost: the same batch is there again.
    await running[Symbol.asyncDispose]();
    await audit.publish({ epoch, firstSeq: 1, records });
    running = await audit.start();
    await untilTaken();
    expect(idsOf(await audit.all())).toEqual(ids(records));
  });
});

it('takes 10,000 records', async () => {
  await running[Symbol.asyncDispose]();
  for (let at = 0; at < 50; at += 1) {
    await audit.publish({ epoch, firstSeq: at * 200 + 1, records: passages(200) });
  }
  const begun = performance.now();
  running = await audit.start();
  await untilTaken();
  const seconds = (performance.now() - begun) / 1_000;
  expect(await audit.database.query('select size::int from tenant_logs')).toEqual([{ size: 10_000 }]);
  const asked = performance.now();
  await audit.asApi.call(auditRpc.search, 'default', { kind: 'request', text: 'cart' });
  const found = performance.now() - asked;
  console.info(
    `audit: 10000 records in ${seconds.toFixed(1)} s, ${Math.round(10_000 / seconds)}/s; a search ${found.toFixed(0)} ms`,
  );
  await checkLog();
}, 180_000);
