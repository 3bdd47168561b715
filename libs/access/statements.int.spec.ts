import 'reflect-metadata';
import { AccessStatement, SignedTime, StatementVerifier, signAccessStatement } from '@fairlead/access-statement';
import { NewGrant, type ClusterEntry, type Principal } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { silentLogger } from '@fairlead/observability';
import { testAuthority, type TestAuthority } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Authentication } from './feature/authentication.js';
import { Grants } from './feature/grants.js';
import { IssueStatement } from './feature/issue-statement.js';
import type { KeysPort } from './feature/keys-port.js';
import type { KnownClusters } from './feature/known-clusters.js';
import { Lockdowns } from './feature/lockdowns.js';
import type { Runtime } from './feature/runtime.js';
import { accessDatabase, noQuotas, type AccessDatabase } from './testing/access-fixture.js';

const api = { role: 'api', credential: 'api' } as const;
const T = 'default';
const entry = (name: string, labels: Record<string, string>): ClusterEntry => ({
  tenantId: T,
  clusterId: crypto.randomUUID(),
  name,
  generation: 1,
  labels,
});
const shop = entry('shop', { env: 'staging' });
const bank = entry('bank', { env: 'production' });
const person: Principal = {
  tenantId: T,
  tokenId: crypto.randomUUID(),
  kind: 'login',
  user: 'corp:alice',
  groups: [],
  subjectGroups: ['corp:dev'],
  administrator: false,
  auditor: false,
  expiresAt: null,
};

let stored: AccessDatabase;
let authority: TestAuthority;
let grants: Grants;
let lockdowns: Lockdowns;
let statements: IssueStatement;

beforeAll(async () => {
  [stored, authority] = await Promise.all([accessDatabase(), testAuthority()]);
  const { database } = stored;
  const source = { role: 'access', credential: 'access' } as const;
  const runtime: Runtime = {
    database,
    source,
    logger: silentLogger,
    onCommitted: () => undefined,
    now: () => new Date(),
  };
  const clusters = {
    get: (_tenantId: string, name: string) => {
      const found = [shop, bank].find((each) => each.name === name);
      if (!found) throw new FairleadError('NOT_FOUND', `there is no cluster named ${name}`);
      return found;
    },
  } as KnownClusters;
  grants = new Grants(runtime, clusters, noQuotas);
  lockdowns = new Lockdowns(runtime, clusters);
  const authentication = { authenticate: async () => person } as unknown as Authentication;
  statements = new IssueStatement(runtime, { authentication, clusters, keys: signing() });
});
afterAll(() => stored?.[Symbol.asyncDispose]());

/** As `keys` signs. */
function signing(): KeysPort {
  return {
    putStatementRevocations: () => Promise.reject(new Error('not here')),
    async signAccessStatement(_tenantId, document) {
      const { privateKeyPem, chain } = await authority.service('access-statements');
      const statement = AccessStatement.parse(JSON.parse(Buffer.from(document).toString()));
      const envelope = await signAccessStatement(statement, { keyPem: privateKeyPem, chainPem: chain.slice(0, -1) });
      return { envelope: Buffer.from(envelope).toString('base64'), openUntil: statement.openUntil };
    },
  };
}

async function issued(cluster: string): Promise<AccessStatement> {
  const { envelope } = await statements.issue({ tokenHash: '', cluster });
  const trust = { rootsPem: authority.roots, trustDomain: authority.trustDomain };
  const verifier = new StatementVerifier({ trust: () => trust, time: new SignedTime(Date.now) });
  const { clusterId } = cluster === 'shop' ? shop : bank;
  return (await verifier.open(Buffer.from(envelope, 'base64'), { clusterId, tenantId: T })).statement;
}

it('is issued for what somebody was granted in that cluster, by name or by a group of theirs, and for nothing else', async () => {
  await expect(issued('shop')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  const base = { role: 'view', expiresAt: null, reason: 'on call', by: 'admin' };
  const create = async (change: object) => {
    const { by, ...input } = { ...base, ...change };
    return (await grants.create(api, T, { ...NewGrant.parse(input), by })).id;
  };
  const own = await create({ subject: { kind: 'user', name: 'corp:alice' }, clusters: { names: ['shop'] } });
  const group = await create({
    subject: { kind: 'group', name: 'corp:dev' },
    role: 'edit',
    clusters: { selector: 'env=staging' },
    narrowing: { namespaces: ['web'] },
  });
  await create({ subject: { kind: 'user', name: 'corp:bob' }, clusters: { all: true }, role: 'cluster-admin' });
  const { user, rules } = await issued('shop');
  expect(user).toBe('corp:alice');
  const said = rules.map(({ grantId, groups, narrowing }) => ({ grantId, groups, narrowing }));
  expect(said).toHaveLength(2);
  expect(said).toEqual(
    expect.arrayContaining([
      { grantId: own, groups: ['fairlead:view'], narrowing: {} },
      { grantId: group, groups: ['fairlead:edit'], narrowing: { namespaces: ['web'] } },
    ]),
  );
  await expect(issued('bank')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(issued('nowhere')).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

it('is told of in the same words where there is nothing for them and where there is nothing', async () => {
  await expect(issued('nowhere')).rejects.toThrow('there is no cluster named nowhere');
  await lockdowns.begin(api, T, { cluster: 'bank', by: 'admin', reason: 'a secret reason' });
  await expect(issued('bank')).rejects.toThrow('there is no cluster named bank');
});

it('is not issued while the cluster is locked down', async () => {
  await lockdowns.begin(api, T, { cluster: 'shop', by: 'admin', reason: 'a break-in' });
  await expect(issued('shop')).rejects.toThrow('locked down: a break-in');
});
