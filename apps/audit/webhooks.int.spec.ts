import 'reflect-metadata';
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { meterNothing, type AuditOptions, type RetryRules } from '@fairlead/audit';
import { auditFixture, disconnected, type AuditFixture } from '@fairlead/audit/testing';
import {
  DEFAULT_TENANT,
  MAX_DEAD_LETTERS,
  rpcPattern,
  subscriberRpc,
  webhookKeysRpc,
  webhookRpc,
  type CreatedSubscriber,
  type WebhookSubscription,
} from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { AddressRanges, OutboundPosts } from '@fairlead/outbound';
import { emptyTables } from '@fairlead/persistence/testing';
import { eventually, scratchDir } from '@fairlead/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { isSignedBy, startReceiver, type Received, type Receiver } from './testing/receiver.js';
import { startWebhookKeys, type WebhookKeys } from './testing/webhook-keys.js';

const main = fileURLToPath(new URL('./dist/bundle/main.js', import.meta.url));
const PATIENCE = { timeoutMs: 60_000 };
const by = 'ada';
const QUICK: RetryRules = { attempts: 3, leastMs: 10, baseMs: 20, capMs: 100, maxRetryAfterMs: 1_000 };

let audit: AuditFixture;
let keys: WebhookKeys;
let keysServing: AsyncDisposable;
let receiver: Receiver;
let running: AsyncDisposable;
/** Of this test alone. */
let name: string;
let path: string;

beforeAll(async () => {
  audit = await auditFixture();
  keys = await startWebhookKeys(audit.postgres.info.adminUrl, audit.nats);
  keysServing = await keys.serve();
  receiver = await startReceiver(['127.0.0.1', 'hooks.example.test']);
}, 120_000);
afterAll(async () => {
  await receiver?.[Symbol.asyncDispose]();
  await keysServing?.[Symbol.asyncDispose]();
  await keys?.[Symbol.asyncDispose]();
  await audit?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await emptyTables(audit.database, 'subscribers');
  await emptyTables(keys.database, 'webhook_secrets');
  name = `hook-${randomUUID().slice(0, 8)}`;
  path = `/${name}`;
  running = await audit.start({ webhooks: webhooks() });
}, 60_000);
afterEach(() => running?.[Symbol.asyncDispose]());

function webhooks({
  ranges = '127.0.0.1',
  ...said
}: Partial<AuditOptions['webhooks']> & {
  ranges?: string;
  resolve?: (name: string) => Promise<readonly string[]>;
} = {}): AuditOptions['webhooks'] {
  const rules = { allowed: AddressRanges.parse(ranges), what: 'the URL of the webhook' };
  const { resolve, ...options } = said;
  const posts = new OutboundPosts({ rules, ca: receiver.ca, ...(resolve ? { resolve } : {}) });
  return { posts, meter: meterNothing, retry: QUICK, timeoutMs: 60_000, lookEveryMs: 100, ...options };
}

async function create(url = receiver.url(path), types = ['agent.*']): Promise<CreatedSubscriber> {
  const subscriber = { kind: 'webhook', name, types, url } as const;
  return audit.asApi.call(subscriberRpc.createSubscriber, DEFAULT_TENANT, { subscriber, by });
}
const state = async (of = name): Promise<WebhookSubscription> =>
  (await audit.asApi.call(subscriberRpc.getSubscriber, DEFAULT_TENANT, { name: of })).webhook!;
/** One after the other, so that they are entries in this order. */
async function publish(count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID());
  for (const id of ids) await audit.publishEvent(disconnected(id));
  return ids;
}
const eventIds = (all: readonly Received[]): string[] => all.map(({ event }) => event.id);
const untilReceived = (ids: readonly string[], at = path): Promise<void> =>
  eventually(() => expect(new Set(eventIds(receiver.at(at)))).toEqual(new Set(ids)), PATIENCE);
const untilSettled = (): Promise<void> =>
  eventually(async () => expect(await state()).toMatchObject({ pending: 0, behind: 0 }), PATIENCE);
const secretsLeft = async (): Promise<number> => {
  const rows = (await keys.database.query('select 1 from webhook_secrets')) as unknown[];
  return rows.length;
};
async function told(type: string): Promise<Record<string, unknown>[]> {
  const rows = (await audit.database.query('select body from outbox order by id')) as { body: string }[];
  const events = rows.map(({ body }) => JSON.parse(body) as { type: string; data: Record<string, unknown> });
  return events
    .filter((event) => event.type === `dev.fairlead.subscriber.${type}.v1` && event.data['name'] === name)
    .map(({ data }) => data);
}

describe('a webhook', () => {
  it('is told of the events it is meant to be told of, signed, as they are in the log, and of nothing else', async () => {
    const { secret, webhook } = await create();
    expect(webhook).toMatchObject({
      origin: `https://127.0.0.1:${receiver.port}`,
      state: 'active',
      pending: 0,
      dead: 0,
    });
    const other = { kind: 'webhook' as const, name: 'other', types: ['grant.*'], url: receiver.url('/other') };
    await audit.asApi.call(subscriberRpc.createSubscriber, DEFAULT_TENANT, { subscriber: other, by });
    const ids = await publish(5);
    await untilReceived(ids);
    await untilSettled();
    const entries = await audit.all({ entry: 'event' });
    for (const one of receiver.at(path)) {
      expect(isSignedBy(secret!, one)).toBe(true);
      expect(isSignedBy(`whsec_${Buffer.alloc(32).toString('base64')}`, one)).toBe(false);
      expect(JSON.parse(one.body)).toEqual(entries.find(({ number }) => number === one.entry)?.body);
      expect(Math.abs(one.timestamp - Date.now() / 1_000)).toBeLessThan(300);
    }
    expect(receiver.at(path)).toHaveLength(5);
    expect(receiver.at('/other')).toEqual([]);
    expect(await state()).toMatchObject({ lastError: null, deliveredAt: expect.any(String) as unknown });
  });

  it('is told again until it has it, under the same id, and what it gives up is kept and delivered when it is asked for', async () => {
    let failing = true;
    receiver.answers.set(path, (_one, response) => void response.writeHead(failing ? 503 : 200).end());
    await create();
    const [id] = await publish(1);
    await eventually(async () => expect(await state()).toMatchObject({ pending: 0, dead: 1 }), PATIENCE);
    expect(receiver.at(path)).toHaveLength(3);
    const { deadLetters } = await audit.asApi.call(webhookRpc.listDeadLetters, DEFAULT_TENANT, { name });
    expect(deadLetters).toMatchObject([
      { number: receiver.at(path)[0]!.entry, attempts: 3, status: 503, error: 'it answered 503' },
    ]);
    failing = false;
    const answer = await audit.asApi.call(webhookRpc.redeliver, DEFAULT_TENANT, { name, numbers: null, by });
    expect(answer).toEqual({ count: 1 });
    await eventually(async () => expect(await state()).toMatchObject({ pending: 0, dead: 0 }), PATIENCE);
    expect(eventIds(receiver.at(path))).toEqual([id, id, id, id]);
    expect(new Set(receiver.at(path).map((one) => one.id)).size).toBe(1);
    expect(await told('redelivered')).toMatchObject([{ count: 1, actor: { kind: 'user', id: by } }]);
  });

  it('is told all from an entry or a time on again, and of nothing that it was not told yet', async () => {
    await create();
    const ids = await publish(4);
    await untilReceived(ids);
    await untilSettled();
    const numbers = receiver
      .at(path)
      .map(({ entry }) => entry)
      .toSorted((a, b) => a - b);
    const third = numbers[2]!;
    const replay = (from: { number: number } | { time: string }) =>
      audit.asApi.call(subscriberRpc.replaySubscriber, DEFAULT_TENANT, { name, from, by });
    await replay({ number: third });
    await eventually(() => expect(receiver.at(path)).toHaveLength(6), PATIENCE);
    await untilSettled();
    const again = receiver.at(path).slice(4);
    expect(again.map(({ entry }) => entry).toSorted((a, b) => a - b)).toEqual(numbers.slice(2));
    expect(new Set(receiver.at(path).map((one) => one.id)).size).toBe(4);
    await expect(replay({ number: third + 1_000 })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    const entries = await audit.all();
    await replay({ time: entries.find(({ number }) => number === numbers[1])!.recordedAt });
    await eventually(() => expect(receiver.at(path).length).toBeGreaterThanOrEqual(9), PATIENCE);
    const replayed = (await told('replayed')).map(({ fromNumber }) => Number(fromNumber));
    expect(replayed[0]).toBe(third);
    expect(replayed[1]).toBeLessThanOrEqual(numbers[1]!);
  });

  it('can verify by the old secret and the new one while it lasts, and then by the new one alone', async () => {
    const { secret: first } = await create();
    const rotate = (overlapHours: number) =>
      audit.asApi.call(webhookRpc.rotateWebhookSecret, DEFAULT_TENANT, { name, overlapHours, by });
    const { secret: second } = await rotate(24);
    const [one] = await publish(1);
    await untilReceived([one!]);
    const [message] = receiver.at(path);
    expect([first!, second].map((secret) => isSignedBy(secret, message!))).toEqual([true, true]);
    const { secret: third } = await rotate(0);
    const [two] = await publish(1);
    await untilReceived([one!, two!]);
    const last = receiver.at(path).find(({ event }) => event.id === two);
    expect([first!, second, third].map((secret) => isSignedBy(secret, last!))).toEqual([false, false, true]);
    expect(JSON.stringify(await told('rotated'))).not.toContain('whsec_');
  });

  it('that answers that it is gone is told nothing more, which is told, until it is enabled; then nothing is missing', async () => {
    let gone = true;
    receiver.answers.set(path, (_one, response) => void response.writeHead(gone ? 410 : 204).end());
    await create();
    const [first] = await publish(1);
    await eventually(
      async () => expect(await state()).toMatchObject({ state: 'disabled', disabledFor: 'GONE' }),
      PATIENCE,
    );
    expect(await told('disabled')).toMatchObject([{ reason: 'GONE', actor: { kind: 'service', id: 'audit' } }]);
    const rest = await publish(3);
    gone = false;
    const enabled = await audit.asApi.call(webhookRpc.enableWebhook, DEFAULT_TENANT, { name, by });
    expect(enabled.webhook?.state).toBe('active');
    await untilReceived([first!, ...rest]);
    await untilSettled();
  });

  it('with as many dead letters as there may be is told nothing more, and none is dropped', async () => {
    receiver.answers.set(path, (_one, response) => void response.writeHead(500).end());
    const { id } = await create();
    await audit.database.query(
      `insert into webhook_deliveries (subscriber_id, number, recorded_at, next_at)
       select $1, 1000000 + n, now(), null from generate_series(1, $2::int) n`,
      [id, MAX_DEAD_LETTERS - 1],
    );
    await publish(1);
    const full = { state: 'disabled', disabledFor: 'QUOTA_EXCEEDED', dead: MAX_DEAD_LETTERS };
    await eventually(async () => expect(await state()).toMatchObject(full), PATIENCE);
  });

  it('that does not answer keeps no other one waiting', async () => {
    const held: (() => void)[] = [];
    receiver.answers.set(
      path,
      (_one, response) => new Promise<void>((end) => held.push(() => end(void response.end()))),
    );
    await create();
    await audit.asApi.call(subscriberRpc.createSubscriber, DEFAULT_TENANT, {
      subscriber: { kind: 'webhook', name: 'quick', types: ['agent.*'], url: receiver.url(`${path}-quick`) },
      by,
    });
    const ids = await publish(20);
    await untilReceived(ids, `${path}-quick`);
    // So many at once and no more, of which none has been answered.
    await eventually(() => expect(receiver.at(path)).toHaveLength(4), PATIENCE);
    for (const end of held) end();
    receiver.answers.delete(path);
    await untilReceived(ids);
  });

  it('is told by one process at a time, and by another one as soon as that ends', async () => {
    await using second = await audit.start({ webhooks: webhooks() });
    await create();
    const ids = await publish(30);
    await untilReceived(ids);
    await untilSettled();
    expect(receiver.at(path)).toHaveLength(30);
    await running[Symbol.asyncDispose]();
    running = second;
    const more = await publish(2);
    await untilReceived([...ids, ...more]);
  });

  it('that another process has by now is told nothing by the one that stood still, whose failures do not count', async () => {
    await running[Symbol.asyncDispose]();
    const attempted: string[] = [];
    const meter = { ...meterNothing, attempted: (outcome: string) => void attempted.push(outcome) };
    // It does not look by itself whether it still has the webhook.
    running = await audit.start({ webhooks: webhooks({ lookEveryMs: 600_000, meter }) });
    const held: (() => void)[] = [];
    receiver.answers.set(
      path,
      (_one, response) => new Promise<void>((end) => held.push(() => end(void response.writeHead(503).end()))),
    );
    const { id } = await create();
    const ids = await publish(6);
    const recorded = async () => (await audit.all({ entry: 'event' })).map(({ body }) => body?.['id']);
    await eventually(async () => expect(await recorded()).toEqual(expect.arrayContaining(ids)), PATIENCE);
    const look = () => audit.asApi.call(webhookRpc.enableWebhook, DEFAULT_TENANT, { name, by });
    await look();
    await eventually(() => expect(held).toHaveLength(4), PATIENCE);
    const lease = `update webhooks set lease = gen_random_uuid(), leased_until = now() + interval '1 hour'`;
    await audit.database.query(lease);
    receiver.answers.delete(path);
    for (const end of held) end();
    await eventually(() => expect(attempted).toHaveLength(4), PATIENCE);
    const attempts = 'select attempts from webhook_deliveries where subscriber_id = $1';
    const rows = (await audit.database.query(attempts, [id])) as { attempts: number }[];
    expect(rows.map((row) => row.attempts)).toEqual([0, 0, 0, 0, 0, 0]);
    await audit.database.query('update webhooks set lease = null, leased_until = null');
    await look();
    await untilReceived(ids);
    await untilSettled();
    expect(receiver.at(path)).toHaveLength(4 + 6);
  });

  it('is not told what keys refuses to sign: that is a dead letter at once, with the reason', async () => {
    await create();
    await keysServing[Symbol.asyncDispose]();
    const other = await audit.nats.connect({ role: 'keys', credential: 'keys' });
    const err = new FairleadError('INVALID_ARGUMENT', 'a newer keys takes no such message').toWire();
    const refusing = other.subscribe(rpcPattern(webhookKeysRpc.signWebhook), {
      queue: 'keys',
      callback: (_error, message) =>
        void message.respond(JSON.stringify({ id: message.json<{ id: string }>().id, err, isDisposed: true })),
    });
    try {
      await publish(1);
      await eventually(async () => expect(await state()).toMatchObject({ pending: 0, dead: 1 }), PATIENCE);
    } finally {
      refusing.unsubscribe();
      keysServing = await keys.serve();
    }
    expect((await state()).lastError).toBe('keys does not sign it: a newer keys takes no such message');
    expect(receiver.at(path)).toEqual([]);
    const { deadLetters } = await audit.asApi.call(webhookRpc.listDeadLetters, DEFAULT_TENANT, { name });
    expect(deadLetters).toMatchObject([{ attempts: 0, status: null }]);
  });

  it('waits where keys is away, which is no attempt', async () => {
    await create();
    await keysServing[Symbol.asyncDispose]();
    const ids = await publish(1);
    await eventually(async () => expect((await state()).lastError).toContain('keys is away'), PATIENCE);
    keysServing = await keys.serve();
    await untilReceived(ids);
    await untilSettled();
    expect(receiver.at(path)).toHaveLength(1);
  });
});

describe('an address', () => {
  it('of a private network is refused, at once where the URL says it and at the attempt where a name leads to it', async () => {
    for (const url of [
      'https://10.1.2.3/',
      'https://169.254.169.254/latest',
      'https://[::1]/',
      'http://127.0.0.1/',
      'https://u:p@127.0.0.1/',
    ]) {
      await expect(create(url)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    }
    expect(await secretsLeft()).toBe(0);
    await running[Symbol.asyncDispose]();
    running = await audit.start({ webhooks: webhooks({ ranges: '' }) });
    await create(`https://localhost:${receiver.port}${path}?token=s3cr3t`);
    await publish(1);
    await eventually(async () => expect(await state()).toMatchObject({ dead: 1 }), PATIENCE);
    const { lastError } = await state();
    expect(lastError).toBe('the URL of the webhook is refused: localhost is not on the public internet');
    expect(receiver.at(path)).toEqual([]);
  });

  it('is the one that was looked at: a name that leads elsewhere afterwards is refused', async () => {
    await running[Symbol.asyncDispose]();
    const answers = ['127.0.0.1', '127.0.0.2'];
    const resolve = async (): Promise<readonly string[]> => [answers.shift() ?? '127.0.0.2'];
    running = await audit.start({ webhooks: webhooks({ resolve }) });
    await create(`https://hooks.example.test:${receiver.port}${path}`);
    const [first] = await publish(1);
    await untilReceived([first!]);
    await untilSettled();
    await publish(1);
    await eventually(async () => expect(await state()).toMatchObject({ dead: 1 }), PATIENCE);
    expect(receiver.at(path)).toHaveLength(1);
    expect((await state()).lastError).toContain('hooks.example.test is not on the public internet');
  });
});

describe('the secret', () => {
  it('of a webhook that was not made, or was removed, is gone', async () => {
    await create();
    await expect(create()).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    expect(await secretsLeft()).toBe(1);
    await audit.asApi.call(subscriberRpc.removeSubscriber, DEFAULT_TENANT, { name, by });
    expect(await secretsLeft()).toBe(0);
    // After keys has made it, and before it is stored.
    await audit.database.query(
      `create function refuse() returns trigger language plpgsql as $$ begin raise 'no'; end $$`,
    );
    await audit.database.query('create trigger refuse before insert on outbox for each row execute function refuse()');
    try {
      await expect(create()).rejects.toMatchObject({ code: 'INTERNAL' });
    } finally {
      await audit.database.query('drop trigger refuse on outbox');
      await audit.database.query('drop function refuse');
    }
    expect(await secretsLeft()).toBe(0);
  });

  it('of which there is no webhook is destroyed by whoever starts, unless it is quite new', async () => {
    await create();
    for (const age of ['1 hour', '0 seconds']) {
      await keys.database.query(
        `insert into webhook_secrets (id, subscriber_id, tenant_id, sealed_secret, created_at)
         values (gen_random_uuid(), gen_random_uuid(), 'shop', '\\x00', now() - $1::interval)`,
        [age],
      );
    }
    await using _second = await audit.start({ webhooks: webhooks() });
    await eventually(async () => expect(await secretsLeft()).toBe(2), PATIENCE);
  });
});

describe('the service', () => {
  it('that is killed between the answer and the commit tells it again, under the same id', async () => {
    if (!existsSync(main)) throw new Error('build first: npm run build');
    await running[Symbol.asyncDispose]();
    await using stack = new AsyncDisposableStack();
    const scratch = stack.use(await scratchDir());
    await writeFile(scratch.file('database.url'), audit.databaseUrl, { mode: 0o600 });
    await writeFile(scratch.file('ca.pem'), receiver.ca);
    const start = (): ChildProcess => {
      const child = spawn(process.execPath, [main], {
        env: {
          FAIRLEAD_NATS_URL: audit.nats.server.info.url,
          FAIRLEAD_NATS_SEED_FILE: audit.nats.seedFile({ role: 'audit', credential: 'audit' }),
          FAIRLEAD_DATABASE_URL_FILE: scratch.file('database.url'),
          FAIRLEAD_HEALTH_LISTEN: '127.0.0.1:0',
          FAIRLEAD_WEBHOOK_ALLOWED_RANGES: '127.0.0.0/8',
          FAIRLEAD_WEBHOOK_CA_FILE: scratch.file('ca.pem'),
        },
        stdio: 'ignore',
      });
      stack.defer(async () => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        child.kill('SIGKILL');
        await once(child, 'exit');
      });
      return child;
    };
    const first = start();
    await eventually(() => create(), { timeoutMs: 120_000 });
    const killed = Promise.withResolvers<void>();
    receiver.answers.set(path, async (_one, response) => {
      receiver.answers.delete(path);
      // Whoever has this row lets nobody else write down that it was delivered.
      const holder = audit.database.createQueryRunner();
      await holder.startTransaction();
      await holder.query('select * from webhook_deliveries for update');
      response.writeHead(204).end();
      const waiting = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%delete from webhook_deliveries%'`;
      await eventually(async () => expect(await audit.database.query(waiting)).toHaveLength(1), PATIENCE);
      const gone = once(first, 'exit');
      first.kill('SIGKILL');
      await gone;
      await holder.rollbackTransaction();
      await holder.release();
      killed.resolve();
    });
    const [id] = await publish(1);
    await killed.promise;
    start();
    // As if its lease had ended.
    await audit.database.query('update webhooks set leased_until = now()');
    await eventually(() => expect(receiver.at(path).length).toBeGreaterThanOrEqual(2), { timeoutMs: 120_000 });
    await untilSettled();
    expect(new Set(eventIds(receiver.at(path)))).toEqual(new Set([id]));
    expect(new Set(receiver.at(path).map((one) => one.id)).size).toBe(1);
    // The next one is told once.
    const [next] = await publish(1);
    await untilReceived([id!, next!]);
  }, 300_000);
});
