import 'reflect-metadata';
import { openStatementRevocations, type StatementRevocations } from '@fairlead/access-statement';
import { silentLogger } from '@fairlead/observability';
import { expect, it } from 'vitest';
import { StatementRevocationLists } from './feature/statement-revocation-lists.js';
import { KEYS_BUCKETS } from './feature/projected-buckets.js';
import { allRevocations } from './store/statement-revocation-store.js';
import { keysOfEach, trustDomain, type KeysProcess } from './testing/keys-fixture.js';

const DAY_MS = 86_400_000;
let keys: KeysProcess;
let lists: StatementRevocationLists;

const fixture = keysOfEach(async () => {
  keys = await fixture.start();
  const { database, ca } = keys;
  lists = new StatementRevocationLists({ database, ca, logger: silentLogger, onCommitted: () => undefined });
});

const list = (number: number, change: Partial<StatementRevocations> = {}): StatementRevocations => ({
  version: 1,
  tenantId: 'default',
  number,
  issuedAt: new Date(fixture.nowMs).toISOString(),
  floor: null,
  revoked: [],
  locked: [],
  required: [],
  ...change,
});
const entryOf = (value: string) => ({ kind: 'user', value, before: new Date(fixture.nowMs).toISOString() });
const put = (said: unknown, tenantId = 'default') =>
  lists.put(tenantId, Buffer.from(JSON.stringify(said)).toString('base64'));

/** What gateways see, as agents read it. */
async function shown(tenantId = 'default'): Promise<StatementRevocations> {
  const bucket = KEYS_BUCKETS.find(({ bucket: name }) => name === 'fairlead-statement-revocations');
  const entry = (await bucket!.rows(keys.database.manager)).get(tenantId) as { number: number; envelope: string };
  const { roots } = await keys.ca.trustBundle();
  const trust = { rootsPem: roots, trustDomain, at: new Date(fixture.nowMs) };
  const opened = await openStatementRevocations(Buffer.from(entry.envelope, 'base64'), trust);
  expect(opened.number).toBe(entry.number);
  return opened;
}

it('signs a list, shows it, and lets none with the same number or an earlier one take its place', async () => {
  expect(await put(list(5, { locked: 'all' }))).toEqual({ number: 5, taken: true });
  expect(await put(list(5, { locked: 'all' }))).toEqual({ number: 5, taken: true });
  expect(await put(list(5))).toEqual({ number: 5, taken: false });
  expect(await put(list(4))).toEqual({ number: 5, taken: false });
  expect(await shown()).toMatchObject({ number: 5, locked: 'all' });
  expect(await put(list(6))).toEqual({ number: 6, taken: true });
  expect(await shown()).toMatchObject({ number: 6, locked: [] });
});

it('keeps tenants apart', async () => {
  await put(list(9));
  await put(list(1, { tenantId: 'other' }), 'other');
  expect([(await shown()).number, (await shown('other')).number]).toEqual([9, 1]);
  await expect(put(list(10), 'other')).rejects.toMatchObject({ code: 'FORBIDDEN' });
});

it.each<[string, () => unknown]>([
  ['no list', () => ({})],
  ['no JSON object', () => '{'],
  ['a number that is none', () => ({ ...list(1), number: 0 })],
  ['too much', () => list(1, { revoked: Array.from({ length: 399 }, () => entryOf('u'.repeat(200))) })],
])('signs nothing for %s', async (_, said) => {
  await expect(put(said())).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

it('signs anew what would not be believed for long, with the same number, and nothing before', async () => {
  await put(list(3));
  const signedAt = async (): Promise<number> =>
    (await allRevocations(keys.database.manager))[0]?.signedAt.getTime() ?? 0;
  const first = await signedAt();
  await lists.renew();
  expect(await signedAt()).toBe(first);
  fixture.nowMs += DAY_MS + 1_000;
  await lists.renew();
  expect(await signedAt()).toBe(fixture.nowMs);
  fixture.nowMs += 6 * DAY_MS;
  expect(await shown()).toMatchObject({ number: 3 });
});
