// @process own: it measures the memory of its process
// @tier full: 100,000 grants; libs/access/grants shows the same of a few
import 'reflect-metadata';
import { BUCKETS, GrantsEntry, NewGrant, grantsKeys, type Caller, type Subject } from '@fairlead/contracts';
import { KeyedProjection, type ServiceRuntime } from '@fairlead/events';
import { watchBucket, type KvSnapshot } from '@fairlead/messaging';
import { startSecuredNats } from '@fairlead/messaging/testing';
import { silentLogger } from '@fairlead/observability';
import { eventually } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { GRANTS_BUCKET } from './feature/grants-bucket.js';
import { Grants } from './feature/grants.js';
import { KnownClusters } from './feature/known-clusters.js';
import { accessDatabase, noQuotas } from './testing/access-fixture.js';

const source: Caller = { role: 'access', credential: 'access' };
const USERS = 10_000;
const GRANTS_OF_EACH = 10;
const CHANGES = 100;

const user = (i: number): Subject => ({ kind: 'user', name: `corp:user-${i}` });
const input = { clusters: { selector: 'stage=test' }, role: 'view', expiresAt: null, reason: 'on call' };

const FILL = `
  insert into grants (id, tenant_id, subject_kind, subject_name, bucket_key, effect, role, group_names, narrowing,
    reason, created_by, created_at, cluster_selector, expires_at)
  select gen_random_uuid(), 'default', 'user', 'corp:user-' || u,
    'default.subject.' || rtrim(translate(encode(sha256(convert_to('user:corp:user-' || u, 'UTF8')), 'base64'), '+/', '-_'), '='),
    'allow', 'view', '{}', '{"namespaces": ["team-a", "team-b"]}', 'on call', 'admin', now(), 'stage=test', now() + interval '30 days'
  from generate_series($1::int, $2::int) u, generate_series(1, ${GRANTS_OF_EACH}) g`;

const withinSecond = expect.toSatisfy((ms: number) => ms < 1_000, 'within a second') as number;

function count(bucket: KvSnapshot<GrantsEntry>, subject: Subject): number {
  const entry = bucket.get(grantsKeys.subject('default', subject));
  return entry?.kind === 'subject' ? entry.grants.length : 0;
}

it('brings a change of one among 100,000 grants to doors within a second', async () => {
  await using stored = await accessDatabase();
  const { database } = stored;
  await using nats = await startSecuredNats(stored.scratch.path);
  const connection = await nats.connect(source);
  for (let from = 0; from < USERS; from += 1_000) await database.query(FILL, [from, from + 999]);
  const gateway = await nats.connect({ role: 'gateway', credential: 'gateway-a' });
  const bucket = watchBucket(gateway, BUCKETS.grants, GrantsEntry, { forgetTexts: true });
  await using clusters = new KnownClusters(connection, silentLogger);
  await clusters.loaded;
  const options = { database, nats: connection, logger: silentLogger, bucket: GRANTS_BUCKET };
  let projection = new KeyedProjection(options);
  const runtime: ServiceRuntime = {
    database,
    source,
    logger: silentLogger,
    onCommitted: () => projection.poke(),
    now: () => new Date(),
  };
  const grants = new Grants(runtime, clusters, noQuotas);
  const changeMs = async (i: number): Promise<number> => {
    const before = count(bucket, user(i));
    await grants.create(source, 'default', { ...NewGrant.parse({ ...input, subject: user(i) }), by: 'admin' });
    const committedMs = performance.now();
    while (count(bucket, user(i)) === before) await new Promise((resolve) => setImmediate(resolve));
    return performance.now() - committedMs;
  };
  const untilSynced = async (): Promise<number> => {
    const begunMs = performance.now();
    await eventually(() => expect(projection.synced).toBe(true), { timeoutMs: 120_000 });
    return performance.now() - begunMs;
  };
  const figures: Record<string, number> = {};
  const changes = async (name: string, from: number): Promise<void> => {
    const times: number[] = [];
    for (let i = 0; i < CHANGES; i += 1) times.push(await changeMs(from + i));
    times.sort((a, b) => a - b);
    figures[`${name}.p50Ms`] = times[CHANGES / 2]!;
    figures[`${name}.maxMs`] = times.at(-1)!;
  };
  // While all of it is written for the first time.
  await eventually(() => expect(count(bucket, user(0)) + [...bucket.entries()].length).toBeGreaterThan(10));
  figures['whileWritten.firstMs'] = await changeMs(9_999);
  figures['written.ms'] = await untilSynced();
  await eventually(() => expect([...bucket.entries()].length).toBe(USERS), { timeoutMs: 60_000 });
  await changes('idle', 100);
  await projection[Symbol.asyncDispose]();
  projection = new KeyedProjection(options);
  const swept = untilSynced();
  await changes('whileSwept', 300);
  figures['swept.ms'] = await swept;
  figures['rss.mb'] = process.memoryUsage().rss / 2 ** 20;
  console.log(figures);
  await bucket.close();
  await projection[Symbol.asyncDispose]();
  expect(figures).toMatchObject({ 'idle.maxMs': withinSecond, 'whileSwept.maxMs': withinSecond });
});
