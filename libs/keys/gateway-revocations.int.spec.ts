import 'reflect-metadata';
import { X509Certificate } from 'node:crypto';
import { silentLogger } from '@fairlead/observability';
import { isRevokedGateway, readPeerCertificate, readTrust, secondOf, type PeerCertificate } from '@fairlead/pki';
import { eventually } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { Revocations, keepUp } from './index.js';
import { api, enrol, gatewayA, keysOfEach, newCsr, source, type KeysProcess } from './testing/keys-fixture.js';

const DAY_MS = 86_400_000;
const ISSUING_DAYS = 730;
const reason = 'the machine was taken over';

let keys: KeysProcess;

const fixture = keysOfEach(async () => {
  keys = await fixture.start();
});

async function certify(credential: string): Promise<string> {
  return (await certificateOf(credential)).serial;
}

async function certificateOf(credential: string): Promise<PeerCertificate> {
  const { chain } = await keys.issuer.signGateway({ ...gatewayA, credential }, await newCsr());
  return readPeerCertificate(new X509Certificate(chain[0] as string).raw);
}

/** What agents are told. */
async function toldAgents(): Promise<ReturnType<typeof readTrust>> {
  const { signed } = await keys.ca.trustBundle();
  return readTrust(Buffer.from(signed.bundle, 'base64'));
}

const listed = async (): Promise<Record<string, string | null>> => {
  const { certificates } = await keys.revocations.list({ purpose: 'gateway' });
  return Object.fromEntries(certificates.map(({ serial, revokedFor }) => [serial, revokedFor]));
};

/** The version, and which certificates it names by their numbers. */
async function told(): Promise<[number, readonly string[]]> {
  const { version, revokedGateways } = await toldAgents();
  return [version, revokedGateways];
}

/** By a process that dies before it has told agents. */
async function revokeAndDie(serial: string): Promise<void> {
  const { database } = keys;
  const died = new Error('killed');
  const dying = new Revocations({
    database,
    source,
    ca: { publishRevokedGateways: () => Promise.reject(died) },
    onCommitted: () => undefined,
    now: () => new Date(fixture.nowMs),
  });
  await expect(dying.revokeCertificate(api, 'default', { serial, reason })).rejects.toBe(died);
  expect((await listed())[serial]).toBe(reason);
}

it('revokes one certificate of a gateway by its serial number for the installation’s tenant, and for no other', async () => {
  const [one, other] = [await certify('gateway-a'), await certify('gateway-a')];
  const foreign = keys.revocations.revokeCertificate(api, 'shop', { serial: one, reason });
  await expect(foreign).rejects.toMatchObject({ code: 'NOT_FOUND' });
  const record = await keys.revocations.revokeCertificate(api, 'default', { serial: one, reason });
  expect(record).toMatchObject({ serial: one, purpose: 'gateway', revokedFor: reason });
  expect(await listed()).toEqual({ [one]: reason, [other]: null });
});

it('revokes all that a gateway has had, and nobody else’s, with an event each; what it gets later is good', async () => {
  const ended = await certify('gateway-a');
  fixture.nowMs += 2 * DAY_MS;
  const current = await certify('gateway-a');
  const others = [await certify('gateway-aa'), await certify('gateway-b'), await certify('b-gateway-a')];
  await enrol(keys);
  expect(await keys.revocations.revokeGateway(api, { name: 'gateway-a', reason })).toEqual({ revoked: 2, more: false });
  const later = await certify('gateway-a');
  const expected = [...others, later].map((serial) => [serial, null]);
  expect(await listed()).toEqual({ [ended]: reason, [current]: reason, ...Object.fromEntries(expected) });
  const [row] = (await keys.database.query(
    `select count(*)::int as count from outbox where body like '%certificate.revoked.v1%'`,
  )) as { count: number }[];
  expect(row?.count).toBe(2);
  // Again: only what came since.
  expect(await keys.revocations.revokeGateway(api, { name: 'gateway-a', reason })).toEqual({ revoked: 1, more: false });
  const unknown = keys.revocations.revokeGateway(api, { name: 'gateway-z', reason });
  await expect(unknown).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

it('goes on where it stopped, a thousand at once, and leaves what ended too long ago to stand for anything', async () => {
  const first = await certify('gateway-a');
  const copies = (from: number, to: number, end: string): Promise<unknown> =>
    keys.database.query(
      `insert into certificates (serial, tenant_id, purpose, names, authority_id, spki_sha256, not_before, not_after)
       select lpad(to_hex(n), 8, '0'), tenant_id, purpose, names, authority_id, n::text, not_before, now() - $4::interval
       from certificates, generate_series($2::int, $3::int) n where serial = $1`,
      [first, from, to, end],
    );
  await copies(1, 1_000, '1 day');
  await copies(2_001, 2_010, '31 days');
  const ask = (): Promise<unknown> => keys.revocations.revokeGateway(api, { name: 'gateway-a', reason });
  expect([await ask(), await ask()]).toEqual([
    { revoked: 1_000, more: true },
    { revoked: 1, more: false },
  ]);
});

it('tells agents of single certificates by the trust bundle, until a month after their end, and makes no version for nothing', async () => {
  const ended = await certify('gateway-a');
  fixture.nowMs += 2 * DAY_MS;
  const [one, two] = [await certify('gateway-a'), await certify('gateway-a')];
  const agent = await enrol(keys);
  expect(await told()).toEqual([1, []]);
  await keys.revocations.revokeCertificate(api, 'default', { serial: agent.serial, reason });
  expect(await told()).toEqual([1, []]);
  await keys.revocations.revokeCertificate(api, 'default', { serial: one, reason });
  await keys.revocations.revokeCertificate(api, 'default', { serial: one, reason });
  expect(await told()).toEqual([2, [one]]);
  // A link may stand that was opened with it.
  await keys.revocations.revokeCertificate(api, 'default', { serial: ended, reason });
  expect(await told()).toEqual([3, [one, ended]]);
  fixture.nowMs += 1_000;
  await keys.revocations.revokeGateway(api, { name: 'gateway-a', reason });
  expect(await told()).toEqual([4, [two, one, ended]]);
  await keys.ca.publishRevokedGateways();
  expect(await told()).toEqual([4, [two, one, ended]]);
  // With the next version those are left out that ended too long ago.
  fixture.nowMs += 30 * DAY_MS;
  await keys.rotation.rotate(api, { step: 'prepare', force: false });
  expect(await told()).toEqual([5, [two, one]]);
  fixture.nowMs += 2 * DAY_MS;
  await keys.rotation.rotate(api, { step: 'abort', force: false });
  expect(await told()).toEqual([6, []]);
});

it('tells agents of a gateway as a whole, for good: what it had is refused, however long ago, and what it gets next is not', async () => {
  const ended = await certificateOf('gateway-a');
  fixture.nowMs += 40 * DAY_MS;
  const current = await certificateOf('gateway-a');
  const other = await certificateOf('gateway-b');
  await keys.revocations.revokeGateway(api, { name: 'gateway-a', reason });
  // In the same second, by the same clock; and by one that is five minutes behind.
  const next = await certificateOf('gateway-a');
  fixture.nowMs -= 300_000;
  const later = await certificateOf('gateway-a');
  fixture.nowMs += 400 * DAY_MS;
  for (const each of [ended, current]) expect(isRevokedGateway(each, await toldAgents())).toBe(true);
  for (const each of [next, later, other]) expect(isRevokedGateway(each, await toldAgents())).toBe(false);
  await keys.ca.publishRevokedGateways();
  expect(await toldAgents()).toMatchObject({ version: 2, fencedGateways: [{ name: 'gateway-a' }] });
});

it('fences a gateway only up to the first certificate that may be good', async () => {
  const [first, second] = [await certificateOf('gateway-a'), await certificateOf('gateway-a')];
  fixture.nowMs += 1_000;
  const third = await certificateOf('gateway-a');
  const revoke = async ({ serial }: PeerCertificate): Promise<unknown> =>
    keys.revocations.revokeCertificate(api, 'default', { serial, reason });
  const fences = async (): Promise<unknown> => (await toldAgents()).fencedGateways;
  await revoke(third);
  expect(await fences()).toEqual([]);
  // Two of one second are not told apart by it.
  expect(secondOf(second.notBefore)).toBe(secondOf(first.notBefore));
  await revoke(first);
  expect(await fences()).toEqual([]);
  await revoke(second);
  expect(await fences()).toEqual([{ name: 'gateway-a', through: secondOf(third.notBefore) }]);
});

it('gives a gateway a good certificate at once, after those are revoked that a clock made which was two days ahead', async () => {
  const ended = await certificateOf('gateway-a');
  fixture.nowMs += 2 * DAY_MS;
  const early = await certificateOf('gateway-a');
  fixture.nowMs -= 2 * DAY_MS;
  await keys.revocations.revokeGateway(api, { name: 'gateway-a', reason });
  const next = await certificateOf('gateway-a');
  expect(next.notBefore.getTime()).toBeLessThanOrEqual(fixture.nowMs);
  expect(next.notAfter.getTime()).toBe(Math.floor((fixture.nowMs + DAY_MS) / 1_000) * 1_000);
  expect(await toldAgents()).toMatchObject({
    fencedGateways: [{ name: 'gateway-a', through: secondOf(ended.notBefore) }],
  });
  const isRevoked = async (): Promise<boolean[]> => {
    const revoked = await toldAgents();
    return [ended, early, next].map((each) => isRevokedGateway(each, revoked));
  };
  expect(await isRevoked()).toEqual([true, true, false]);
  // And once more, when the others may have begun.
  fixture.nowMs += 3 * DAY_MS;
  await keys.revocations.revokeGateway(api, { name: 'gateway-a', reason });
  expect(await isRevoked()).toEqual([true, true, true]);
  expect(isRevokedGateway(await certificateOf('gateway-a'), await toldAgents())).toBe(false);
});

async function multiply(serial: string, from: number, to: number): Promise<void> {
  await keys.database.query(
    `insert into certificates (serial, tenant_id, purpose, names, authority_id, spki_sha256, not_before, not_after)
     select lpad(to_hex(n), 8, '0'), tenant_id, purpose, names, authority_id, n::text, not_before, not_after
     from certificates, generate_series($2::int, $3::int) n where serial = $1`,
    [serial, from, to],
  );
}

it('gives a gateway one certificate after the other, whichever process is asked, and none beyond the bound', async () => {
  const other = await fixture.start();
  await multiply(await certify('gateway-a'), 1, 118);
  const ask = async ({ issuer }: KeysProcess): Promise<unknown> =>
    issuer.signGateway({ ...gatewayA, credential: 'gateway-a' }, await newCsr());
  const asked = await Promise.allSettled(Array.from({ length: 12 }, (_, n) => ask(n % 2 === 0 ? keys : other)));
  const refusals = asked.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
  expect(refusals).toHaveLength(11);
  for (const { reason: why } of refusals) expect(why).toMatchObject({ code: 'RATE_LIMITED' });
  const certificates = Object.keys(await listed());
  expect(certificates).toHaveLength(120);
});

it('gives a gateway no more certificates than agents can be told to turn away from', async () => {
  const warned: unknown[] = [];
  fixture.logger = { ...silentLogger, warn: (event, fields) => void warned.push({ event, ...fields }) };
  keys = await fixture.start();
  const first = await certify('gateway-a');
  await multiply(first, 1, 59);
  expect(warned).toEqual([]);
  await certify('gateway-a');
  // Before it is kept out.
  expect(warned).toEqual([{ event: 'gateway.many_certificates', gateway: 'gateway-a', live: 60, atMost: 120 }]);
  await multiply(first, 60, 118);
  await expect(certify('gateway-a')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  await certify('gateway-b');
  await keys.revocations.revokeGateway(api, { name: 'gateway-a', reason });
  const { revokedGateways, fencedGateways } = await toldAgents();
  expect([revokedGateways.length, fencedGateways.length]).toEqual([120, 1]);
  // Once they are worth nothing, its replacement is certified.
  await certify('gateway-a');
});

it('tells agents, once another process looks, of what was revoked by one that died before it told them', async () => {
  const serial = await certify('gateway-a');
  await revokeAndDie(serial);
  expect(await told()).toEqual([1, []]);
  const recoveryWindowSeconds = 2_592_000;
  const keeping = keepUp(keys.ca, { database: keys.database, recoveryWindowSeconds }, silentLogger);
  await eventually(async () => expect(await told()).toEqual([2, [serial]]));
  await keeping[Symbol.asyncDispose]();
});

it('never names other gateways under the same version: a new signer that would, signs the next one', async () => {
  // A moment before the issuing CA, and with it the signer of bundles, is replaced.
  const moment = 3_600_000;
  fixture.nowMs += ((ISSUING_DAYS * 2) / 3) * DAY_MS - moment;
  const [revoked, forgotten] = [await certify('gateway-a'), await certify('gateway-a')];
  await keys.revocations.revokeCertificate(api, 'default', { serial: revoked, reason });
  await revokeAndDie(forgotten);
  const before = await keys.ca.trustBundle();
  expect(await told()).toEqual([2, [revoked]]);
  fixture.nowMs += 2 * moment;
  await keys.ca.upkeep();
  const after = await keys.ca.trustBundle();
  expect(after.signed.signerChain).not.toEqual(before.signed.signerChain);
  const [version, named] = await told();
  expect([version, new Set(named)]).toEqual([3, new Set([revoked, forgotten])]);
  // Nor fewer: by the next replacement both have ended.
  fixture.nowMs += ((ISSUING_DAYS * 2) / 3) * DAY_MS;
  await keys.ca.upkeep();
  expect(await told()).toEqual([4, []]);
  // One that names the same is the same version, whoever signs it.
  fixture.nowMs += ((ISSUING_DAYS * 2) / 3) * DAY_MS;
  await keys.ca.upkeep();
  expect(await told()).toEqual([4, []]);
});
