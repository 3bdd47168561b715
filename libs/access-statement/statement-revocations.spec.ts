import { randomUUID } from 'node:crypto';
import { signStatement } from '@fairlead/pki';
import { testAuthority, type TestAuthority } from '@fairlead/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { RevokedIndex, writeStatementRevocations, type StatementRevocations } from './statement-revocations.js';
import type { AccessStatement } from './access-statement.js';
import { packEnvelope } from './envelope.js';
import { openStatementRevocations, signStatementRevocations } from './signed-statement-revocations.js';

const nowMs = Date.now();
const at = (seconds: number): string => new Date(nowMs + seconds * 1_000).toISOString();
const clusterId = randomUUID();
const grantId = randomUUID();
const statement: AccessStatement = {
  version: 1,
  tenantId: 'default',
  clusterId,
  tokenId: randomUUID(),
  kind: 'login',
  user: 'corp:alice',
  rules: [{ grantId, effect: 'allow', groups: ['fairlead:view'], narrowing: {} }],
  notBefore: at(0),
  openUntil: at(1_800),
  streamsUntil: at(1_800),
  serial: randomUUID(),
};
const list: StatementRevocations = {
  version: 1,
  tenantId: 'default',
  number: 7,
  issuedAt: at(0),
  floor: null,
  revoked: [],
  locked: [],
  required: [],
};
const revoked = (kind: string, value: string, seconds = 0) => ({ kind, value, before: at(seconds) });
const why = (change: Partial<StatementRevocations>, said: Partial<AccessStatement> = {}): string | null =>
  new RevokedIndex({ ...list, ...change }).whyRevoked({ ...statement, ...said });

describe('a list revokes', () => {
  it.each<[string, Partial<StatementRevocations>]>([
    ['of a token', { revoked: [revoked('token', statement.tokenId, -9_999)] }],
    ['by a grant', { revoked: [revoked('grant', grantId, -9_999)] }],
    ['of a user, signed then', { revoked: [revoked('user', 'corp:alice')] }],
    ['of an issuer', { revoked: [revoked('logins', 'corp:', 10)] }],
    ['of everybody who logged in', { revoked: [revoked('logins', '')] }],
    ['of everybody', { floor: at(0) }],
    ['in a cluster that is locked', { locked: [randomUUID(), clusterId] }],
    ['in all clusters', { locked: 'all' }],
  ])('a statement %s', (_, change) => {
    expect(why(change)).toEqual(expect.any(String));
  });

  it.each<[string, Partial<StatementRevocations>, Partial<AccessStatement>?]>([
    ['when it says nothing', {}],
    ['of another token or grant', { revoked: [revoked('token', randomUUID()), revoked('grant', randomUUID())] }],
    ['of another user', { revoked: [revoked('user', 'corp:alic'), revoked('logins', 'git:')] }],
    [
      'that was signed later',
      { floor: at(-1), revoked: [revoked('user', 'corp:alice', -1), revoked('logins', '', -1)] },
    ],
    ['in another cluster', { locked: [randomUUID()] }],
    ['of an API token, with those of everybody who logged in', { revoked: [revoked('logins', '')] }, { kind: 'token' }],
    [
      'of the administrator, who gets in when all are locked out',
      { locked: 'all', floor: at(9), revoked: [revoked('user', 'corp:alice'), revoked('grant', grantId)] },
      { kind: 'administrator' },
    ],
    ['for what it says that is not known here', { revoked: [revoked('moon', 'corp:alice')] }],
  ])('none %s', (_, change, said) => {
    expect(why(change, said)).toBeNull();
  });

  it('nothing of clusters that require statements, which it names', () => {
    const index = new RevokedIndex({ ...list, required: [clusterId] });
    expect([index.requires(clusterId), index.requires(randomUUID())]).toEqual([true, false]);
    expect(new RevokedIndex({ ...list, required: 'all' }).requires(randomUUID())).toBe(true);
  });

  it('the administrator’s by its token', () => {
    const change = { revoked: [revoked('administrator', statement.tokenId)] };
    expect(why(change, { kind: 'administrator' })).toEqual(expect.any(String));
  });
});

describe('a signed list', () => {
  let authority: TestAuthority;
  const signer = async (by = 'access-statements', of = authority) => {
    const { privateKeyPem, chain } = await of.service(by);
    return { keyPem: privateKeyPem, chainPem: chain.slice(0, -1) };
  };
  const open = (envelope: Uint8Array) =>
    openStatementRevocations(envelope, {
      rootsPem: authority.roots,
      trustDomain: authority.trustDomain,
      at: new Date(nowMs + 1_000),
    });
  beforeAll(async () => {
    authority = await testAuthority();
  });

  it('is read as it was signed, and by those who know less than it says', async () => {
    const more = Buffer.from(JSON.stringify({ ...list, moons: 2 }));
    expect(await open(await signStatementRevocations(more, await signer()))).toEqual(list);
  });

  it('is nobody’s but of the signer, in its own context', async () => {
    const document = writeStatementRevocations(list);
    for (const by of ['keys', 'access']) {
      const envelope = await signStatementRevocations(document, await signer(by));
      await expect(open(envelope)).rejects.toMatchObject({ code: 'CERTIFICATE_REFUSED' });
    }
    const foreign = await signStatementRevocations(document, await signer('access-statements', await testAuthority()));
    await expect(open(foreign)).rejects.toMatchObject({ code: 'CERTIFICATE_REFUSED' });
    const statements = packEnvelope(await signStatement('fairlead access statement v1', document, await signer()));
    await expect(open(statements)).rejects.toMatchObject({ code: 'CERTIFICATE_REFUSED' });
  });

  it('is refused when a byte of it is another', async () => {
    const envelope = await signStatementRevocations(writeStatementRevocations(list), await signer());
    const changed = Uint8Array.from(envelope, (byte, index) => (index === envelope.length - 3 ? byte ^ 1 : byte));
    await expect(open(changed)).rejects.toMatchObject({ code: 'CERTIFICATE_REFUSED' });
    await expect(open(envelope.subarray(0, 90))).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
  });

  it('has a bound', () => {
    const many = Array.from({ length: 400 }, () => revoked('user', 'u'.repeat(200)));
    expect(() => writeStatementRevocations({ ...list, revoked: many })).toThrow(/bytes/);
  });
});
