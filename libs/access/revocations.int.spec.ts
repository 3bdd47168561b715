import 'reflect-metadata';
import { readStatementRevocations, type StatementRevocations } from '@fairlead/access-statement';
import { NewGrant, type ClusterEntry } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { RunLoop } from '@fairlead/loop';
import { silentLogger } from '@fairlead/observability';
import { emptyTables } from '@fairlead/persistence/testing';
import { eventually } from '@fairlead/testing';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { setAdministratorToken } from './feature/administrator-token.js';
import { ApiTokens } from './feature/api-tokens.js';
import { Grants } from './feature/grants.js';
import type { KeysPort } from './feature/keys-port.js';
import type { KnownClusters } from './feature/known-clusters.js';
import { Lockdowns } from './feature/lockdowns.js';
import type { Runtime } from './feature/runtime.js';
import { publishRevocations } from './feature/publish-revocations.js';
import { accessDatabase, noQuotas, type AccessDatabase } from './testing/access-fixture.js';

const api = { role: 'api', credential: 'api' } as const;
const T = 'default';
const shop: ClusterEntry = {
  tenantId: T,
  clusterId: crypto.randomUUID(),
  name: 'shop',
  generation: 1,
  labels: {},
  requireStatements: false,
};
const by = 'admin';

let stored: AccessDatabase;
let runtime: Runtime;
let grants: Grants;
/** What `keys` was sent, and the number of the list that it holds. */
let told: StatementRevocations[];
let held: number;
/** As registration tells of them. */
let known: ClusterEntry[];
let looked = 0;
let loop: RunLoop;

beforeAll(async () => {
  stored = await accessDatabase();
  const source = { role: 'access', credential: 'access' } as const;
  runtime = {
    database: stored.database,
    source,
    logger: silentLogger,
    onCommitted: () => undefined,
    now: () => new Date(),
  };
  grants = new Grants(runtime, clusters, noQuotas);
});
afterAll(() => stored?.[Symbol.asyncDispose]());

const clusters = {
  get: () => shop,
  find: () => shop,
  byTenant: () => new Map([[T, known]]),
  get changes() {
    return (looked += 1);
  },
} as unknown as KnownClusters;

/** Holds the higher number, as `keys` does. */
const keys: KeysPort = {
  signAccessStatement: () => Promise.reject(new Error('not here')),
  async putStatementRevocations(_tenantId, document) {
    if (held < 0) throw new FairleadError('UNAVAILABLE', 'keys is away');
    const list = readStatementRevocations(document);
    const before = told.find(({ number }) => number === list.number);
    if (list.number <= held) return { number: held, taken: isDeepStrictEqual(before, list) };
    told.push(list);
    held = list.number;
    return { number: held, taken: true };
  },
};

beforeEach(async () => {
  await emptyTables(stored.database, 'revoked_statements', 'revocation_lists', 'lockdowns');
  [told, held] = [[], 0];
  known = [shop];
  loop = publishRevocations(runtime, keys, clusters);
});
afterEach(() => loop[Symbol.asyncDispose]());

/** Without waiting for the turn that comes by itself. */
function soon(look: () => void | Promise<void>): Promise<void> {
  return eventually(() => {
    loop.wake();
    return look();
  });
}

const last = (): StatementRevocations | undefined => told.at(-1);
const values = (): string[] => (last()?.revoked ?? []).map(({ kind, value }) => `${kind} ${value}`);

interface Asked {
  readonly subject: { readonly kind: string; readonly name: string };
  readonly effect?: 'allow' | 'deny';
  readonly expiresAt?: string;
}

async function granted({ effect = 'allow', ...change }: Asked): Promise<string> {
  const what = effect === 'allow' ? { role: 'view' } : { role: null, effect, narrowing: { verbs: ['delete'] } };
  const base = { ...what, clusters: { all: true }, expiresAt: null, reason: 'on call' };
  return (await grants.create(api, T, { ...NewGrant.parse({ ...base, ...change }), by })).id;
}

it('says what was taken away, each time with a higher number, and nothing of what was given', async () => {
  const tokens = new ApiTokens(runtime, noQuotas);
  const { token } = await tokens.create(api, T, { name: 'ci', expiresAt: null, by });
  const id = await granted({ subject: { kind: 'user', name: 'corp:alice' } });
  await grants.delete(api, T, { id, by });
  await soon(() => expect(values()).toEqual([`grant ${id}`]));
  await tokens.revoke(api, T, token.id, by);
  await soon(() => expect(values()).toEqual([`token ${token.id}`, `grant ${id}`]));
  expect(told.map(({ number }) => number)).toEqual([1, 2]);
});

it('says whose statements do not know of a denial', async () => {
  await granted({ subject: { kind: 'token', name: 'deploy' }, effect: 'deny' });
  const denial = await granted({ subject: { kind: 'group', name: 'corp:dev' }, effect: 'deny' });
  await soon(() => expect(values().toSorted()).toEqual(['logins ', 'user token:deploy']));
  const { number } = last()!;
  await grants.delete(api, T, { id: denial, by });
  await loop[Symbol.asyncDispose]();
  expect(last()?.number).toBe(number);
});

it('says what is locked down as long as it is', async () => {
  const lockdowns = new Lockdowns(runtime, clusters);
  await lockdowns.begin(api, T, { cluster: 'shop', by, reason: 'a break-in' });
  await soon(() => expect(last()?.locked).toEqual([shop.clusterId]));
  await lockdowns.begin(api, T, { cluster: null, by, reason: 'a break-in' });
  await soon(() => expect(last()?.locked).toBe('all'));
  await lockdowns.lift(api, T, { cluster: null, by });
  await lockdowns.lift(api, T, { cluster: 'shop', by });
  await soon(() => expect(last()?.locked).toEqual([]));
});

it('revokes an administrator’s token by name: no floor is over it', async () => {
  await setAdministratorToken(runtime, 'a'.repeat(40));
  const [before] = (await stored.database.query("select id from api_tokens where kind = 'administrator'")) as {
    id: string;
  }[];
  await setAdministratorToken(runtime, 'b'.repeat(40));
  await soon(() => expect(values()).toEqual([`administrator ${before?.id}`]));
});

it('goes on where it was when keys was away, and is behind for nobody', async () => {
  held = -1;
  const id = await granted({ subject: { kind: 'user', name: 'corp:alice' } });
  await grants.delete(api, T, { id, by });
  held = 0;
  await soon(() => expect(values()).toEqual([`grant ${id}`]));
});

it('ends all statements of before when agents have heard of another list with the number of ours', async () => {
  held = 1;
  const id = await granted({ subject: { kind: 'user', name: 'corp:alice' } });
  await grants.delete(api, T, { id, by });
  await soon(() => expect(last()).toMatchObject({ number: 2, floor: expect.any(String) as string, revoked: [] }));
});

it('sends the same again where it does not know whether that was taken, and ends nobody’s for that', async () => {
  const id = await granted({ subject: { kind: 'user', name: 'corp:alice' } });
  await grants.delete(api, T, { id, by });
  await soon(() => expect(values()).toEqual([`grant ${id}`]));
  await stored.database.query('update revocation_lists set told = 0');
  const untold = 'select 1 from revocation_lists where told < number';
  await soon(async () => expect(await stored.database.query(untold)).toEqual([]));
  expect(told.map(({ number, floor }) => [number, floor])).toEqual([[1, null]]);
});

it('leaves it to the next turn where another instance has sent what came since', async () => {
  const id = await granted({ subject: { kind: 'user', name: 'corp:alice' } });
  const other = await granted({ subject: { kind: 'user', name: 'corp:bob' } });
  await loop[Symbol.asyncDispose]();
  await grants.delete(api, T, { id, by });
  // While this instance waits for an answer: another one has sent a later list.
  let late = true;
  const overtaken: KeysPort = {
    ...keys,
    async putStatementRevocations(tenantId, document) {
      if (!late) return keys.putStatementRevocations(tenantId, document);
      late = false;
      await grants.delete(api, T, { id: other, by });
      const quicker = publishRevocations(runtime, keys, clusters);
      await eventually(() => expect(held).toBe(2));
      await quicker[Symbol.asyncDispose]();
      return keys.putStatementRevocations(tenantId, document);
    },
  };
  loop = publishRevocations(runtime, overtaken, clusters);
  await soon(() => expect(late).toBe(false));
  await soon(() => expect(values()).toEqual([`grant ${other}`, `grant ${id}`]));
  expect(told.map(({ floor }) => floor)).toEqual([null]);
});

it('ends all statements of before when agents have heard more than its database knows', async () => {
  held = 41;
  const id = await granted({ subject: { kind: 'user', name: 'corp:alice' } });
  const beganMs = Date.now();
  await grants.delete(api, T, { id, by });
  await soon(() => expect(last()?.number).toBe(42));
  expect(Date.parse(last()?.floor ?? '')).toBeGreaterThanOrEqual(beganMs);
  expect(last()?.revoked).toEqual([]);
});

it('forgets what has ended of itself', async () => {
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  const id = await granted({ subject: { kind: 'user', name: 'corp:alice' }, expiresAt });
  await grants.delete(api, T, { id, by });
  await soon(() => expect(values()).toEqual([`grant ${id}`]));
  await loop[Symbol.asyncDispose]();
  loop = publishRevocations({ ...runtime, now: () => new Date(Date.now() + 7_200_000) }, keys, clusters);
  await granted({ subject: { kind: 'user', name: 'corp:bob' }, effect: 'deny' });
  await soon(() => expect(values()).toEqual(['user corp:bob']));
});

it('says which clusters take nobody without a statement, and forgets none that is only missing', async () => {
  const bank = { ...shop, clusterId: crypto.randomUUID(), name: 'bank', requireStatements: true };
  known = [shop, bank];
  await soon(() => expect(last()?.required).toEqual([bank.clusterId]));
  known = [{ ...shop, requireStatements: true }];
  await soon(() => expect(last()?.required).toEqual([shop.clusterId, bank.clusterId]));
  known = [shop, { ...bank, requireStatements: false }];
  await soon(() => expect(last()?.required).toEqual([]));
});
