import 'reflect-metadata';
import { readTrust } from '@fairlead/pki';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  api,
  enrol,
  gatewayA,
  keysFixture,
  newCsr,
  type KeysFixture,
  type KeysProcess,
} from './testing/keys-fixture.js';

const DAY_MS = 86_400_000;
const reason = 'the machine was taken over';

let fixture: KeysFixture;
let keys: KeysProcess;

beforeAll(async () => {
  fixture = await keysFixture();
});
afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await fixture.reset();
  keys = await fixture.start();
});

async function certify(credential: string): Promise<string> {
  const { serial } = await keys.issuer.signGateway({ ...gatewayA, credential }, await newCsr());
  return serial;
}

const listed = async (): Promise<Record<string, string | null>> => {
  const { certificates } = await keys.revocations.list({ purpose: 'gateway' });
  return Object.fromEntries(certificates.map(({ serial, revokedFor }) => [serial, revokedFor]));
};

it('revokes one certificate of a gateway by its serial number, whichever tenant asks', async () => {
  const [one, other] = [await certify('gateway-a'), await certify('gateway-a')];
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

it('tells agents by the trust bundle, as long as a certificate has not ended, and makes no version for nothing', async () => {
  const ended = await certify('gateway-a');
  fixture.nowMs += 2 * DAY_MS;
  const [one, two] = [await certify('gateway-a'), await certify('gateway-a')];
  const agent = await enrol(keys);
  const told = async (): Promise<[number, readonly string[]]> => {
    const { version, signed } = await keys.ca.trustBundle();
    return [version, readTrust(Buffer.from(signed.bundle, 'base64')).revokedGateways];
  };
  expect(await told()).toEqual([1, []]);
  await keys.revocations.revokeCertificate(api, 'default', { serial: agent.serial, reason });
  await keys.revocations.revokeCertificate(api, 'default', { serial: ended, reason });
  expect(await told()).toEqual([1, []]);
  await keys.revocations.revokeCertificate(api, 'default', { serial: one, reason });
  await keys.revocations.revokeCertificate(api, 'default', { serial: one, reason });
  expect(await told()).toEqual([2, [one]]);
  fixture.nowMs += 1_000;
  await keys.revocations.revokeGateway(api, { name: 'gateway-a', reason });
  expect(await told()).toEqual([3, [two, one]]);
  // With the next version those that have ended are left out.
  fixture.nowMs += 2 * DAY_MS;
  await keys.rotation.rotate(api, { step: 'prepare', force: false });
  expect(await told()).toEqual([4, []]);
});
