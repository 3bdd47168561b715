import 'reflect-metadata';
import { SignedTime, StatementVerifier, type AccessStatement } from '@fairlead/access-statement';
import { beforeEach, expect, it } from 'vitest';
import { AccessStatementSigner } from './feature/access-statement-signer.js';
import { keysOfEach, trustDomain, type KeysProcess } from './testing/keys-fixture.js';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const foreign = crypto.randomUUID();
const cluster = { tenantId: 'default', clusterId: crypto.randomUUID() };

let keys: KeysProcess;
let signer: AccessStatementSigner;
let roots: string[];

const fixture = keysOfEach(async () => {
  keys = await fixture.start();
  const belongs = (tenantId: string, clusterId: string): boolean => tenantId === 'default' && clusterId !== foreign;
  signer = new AccessStatementSigner({ database: keys.database, ca: keys.ca, belongs });
});
beforeEach(async () => {
  ({ roots } = await keys.ca.trustBundle());
});

const after = (ms: number): string => new Date(fixture.nowMs + ms).toISOString();
const statement = (change: Partial<AccessStatement> = {}): AccessStatement => ({
  version: 1,
  ...cluster,
  tokenId: crypto.randomUUID(),
  kind: 'login',
  user: 'corp:alice',
  rules: [],
  notBefore: after(0),
  openUntil: after(60 * MINUTE_MS),
  streamsUntil: after(60 * MINUTE_MS),
  serial: crypto.randomUUID(),
  ...change,
});
const encoded = (said: unknown): string => Buffer.from(JSON.stringify(said)).toString('base64');
const sign = (said: unknown, tenantId = 'default') => signer.sign(tenantId, encoded(said));
const open = (envelope: string) =>
  new StatementVerifier({
    trust: () => ({ rootsPem: roots, trustDomain }),
    time: new SignedTime(() => fixture.nowMs),
  }).open(Buffer.from(envelope, 'base64'), cluster);

it('signs a statement so that whoever trusts the root believes it until its end', async () => {
  const said = statement();
  const { envelope, openUntil } = await sign(said);
  expect(openUntil).toBe(said.openUntil);
  fixture.nowMs += 60 * MINUTE_MS - 1;
  await expect(open(envelope)).resolves.toMatchObject({ statement: said });
  fixture.nowMs += 1;
  await expect(open(envelope)).rejects.toMatchObject({ code: 'STATEMENT_EXPIRED' });
});

it('signs one for an API token that counts until the last day', async () => {
  const said = statement({ kind: 'token', openUntil: after(90 * DAY_MS), streamsUntil: after(90 * DAY_MS) });
  const { envelope, openUntil } = await sign(said);
  fixture.nowMs = Date.parse(openUntil) - 1;
  await expect(open(envelope)).resolves.toMatchObject({ statement: { openUntil } });
});

it('signs with keys that it keeps for a while, and not for long', async () => {
  const chainOf = async (): Promise<string> => {
    const { envelope } = await sign(statement());
    return envelope.slice(0, 400);
  };
  const first = await chainOf();
  expect(await chainOf()).toBe(first);
  fixture.nowMs += 15 * MINUTE_MS;
  expect(await chainOf()).not.toBe(first);
});

it.each<[string, () => unknown, string]>([
  ['another tenant', () => statement({ tenantId: 'other' }), 'FORBIDDEN'],
  ['a cluster of somebody else', () => statement({ clusterId: foreign }), 'FORBIDDEN'],
  [
    'more than an hour of a login',
    () => statement({ openUntil: after(62 * MINUTE_MS), streamsUntil: after(DAY_MS) }),
    'INVALID_ARGUMENT',
  ],
  [
    'more than 90 days of a token',
    () => statement({ kind: 'token', openUntil: after(91 * DAY_MS), streamsUntil: after(91 * DAY_MS) }),
    'INVALID_ARGUMENT',
  ],
  ['a later time', () => statement({ notBefore: after(2 * MINUTE_MS) }), 'INVALID_ARGUMENT'],
  ['a time that has passed', () => statement({ notBefore: after(-2 * MINUTE_MS) }), 'INVALID_ARGUMENT'],
  ['a user of Kubernetes itself', () => statement({ user: 'system:admin' }), 'INVALID_ARGUMENT'],
  ['nothing', () => ({}), 'INVALID_ARGUMENT'],
])('signs nothing for %s', async (_, said, code) => {
  await expect(sign(said())).rejects.toMatchObject({ code });
});
