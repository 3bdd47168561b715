import 'reflect-metadata';
import { systemClock } from '@fairlead/clock';
import { inTransaction } from '@fairlead/persistence';
import { expect, it } from 'vitest';
import { forgetEnded } from './feature/forget-ended.js';
import { lockCluster } from './store/certificate-store.js';
import {
  api,
  enrol,
  keysOfEach,
  newCsr,
  registration,
  renew,
  type EnrolledAgent,
  type KeysProcess,
} from './testing/keys-fixture.js';

const DAY_MS = 86_400_000;

let keys: KeysProcess;

const fixture = keysOfEach(async () => {
  keys = await fixture.start();
});

const forget = (recoveryWindowSeconds = 2_592_000): Promise<number> =>
  forgetEnded({ database: keys.database, recoveryWindowSeconds, now: () => new Date(fixture.nowMs) });

async function recorded(): Promise<string[]> {
  const rows = (await keys.database.query('select serial from certificates')) as { serial: string }[];
  return rows.map(({ serial }) => serial);
}

async function events(): Promise<number> {
  const [row] = (await keys.database.query('select count(*)::int as count from outbox')) as { count: number }[];
  return row?.count ?? 0;
}

it.each<[string, (agent: EnrolledAgent) => Promise<unknown>]>([
  ['they', (agent) => renew(keys, agent)],
  ['certificates of an enrolment', ({ clusterId }) => enrol(keys, clusterId)],
])(
  '%s are refused at once, and not recorded, while somebody else decides about the cluster, and nobody else waits',
  async (_, ask) => {
    const [busy, other] = [await enrol(keys), await enrol(keys)];
    await inTransaction(keys.database, async (manager) => {
      await lockCluster(manager, busy.clusterId);
      const before = await events();
      // More than there are connections to the database: were they to wait, the other cluster's would, too.
      const asked = Promise.allSettled(Array.from({ length: 10 }, () => ask(busy)));
      const answers = await Promise.race([asked, systemClock.sleep(20_000).then(() => [])]);
      expect(answers).toHaveLength(10);
      for (const one of answers) expect(one).toMatchObject({ status: 'rejected', reason: { code: 'RATE_LIMITED' } });
      await ask(other);
      expect(await events()).toBe(before + 1);
    });
  },
);

it('are bounded per cluster, whichever of its certificates is shown', async () => {
  const [hostile, other] = [await enrol(keys), await enrol(keys)];
  let agent = hostile;
  for (let round = 0; round < 10; round += 1) {
    const next = await newCsr();
    agent = { ...agent, ...(await renew(keys, agent, next)), key: next.key };
  }
  for (const certificate of [agent, hostile]) {
    await expect(renew(keys, certificate)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  }
  await expect(renew(keys, other)).resolves.toBeDefined();
  expect(await recorded()).toHaveLength(13);
  fixture.nowMs += 5_000;
  await expect(renew(keys, agent)).resolves.toBeDefined();
});

it('go on for a cluster while somebody asks with a certificate of it that was revoked', async () => {
  const stolen = await enrol(keys);
  const { key, csr } = await newCsr();
  const request = { clusterId: stolen.clusterId, generation: 1, csr };
  const own = { ...stolen, key, ...(await keys.issuer.signAgent(registration, 'default', request)) };
  await keys.revocations.revokeCertificate(api, 'default', { serial: stolen.serial, reason: 'stolen' });
  for (let round = 0; round < 10; round += 1) {
    await expect(renew(keys, stolen)).rejects.toMatchObject({ code: 'CERTIFICATE_REVOKED' });
  }
  await expect(renew(keys, stolen)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  await expect(renew(keys, own)).resolves.toBeDefined();
});

it('go on through another gateway while one repeats a renewal that it once heard', async () => {
  const agent = await enrol(keys);
  const heard = await newCsr();
  await renew(keys, agent, heard);
  for (let round = 0; round < 9; round += 1) {
    await expect(renew(keys, agent, heard)).rejects.toMatchObject({ code: 'CSR_INVALID' });
  }
  await expect(renew(keys, agent, heard)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  const gatewayB = { role: 'gateway', credential: 'gateway-b' } as const;
  await expect(renew(keys, agent, await newCsr(), gatewayB)).resolves.toBeDefined();
});

it('leave records that are forgotten 90 days after the end: all but the newest of a cluster, and what was revoked', async () => {
  const agent = await enrol(keys);
  fixture.nowMs += 1_000;
  const renewed = await renew(keys, agent);
  fixture.nowMs += 1_000;
  const newest = await renew(keys, agent);
  await keys.revocations.revokeCertificate(api, 'default', { serial: renewed.serial, reason: 'copied' });
  const gone = await keys.issuer.signGateway({ role: 'gateway', credential: 'gateway-a' }, await newCsr());
  fixture.nowMs += 90 * DAY_MS;
  expect(await forget()).toBe(0);
  fixture.nowMs += 2 * DAY_MS;
  expect(await forget(31_536_000)).toBe(0);
  expect(new Set(await recorded())).toEqual(new Set([agent, renewed, newest, gone].map(({ serial }) => serial)));
  expect(await forget()).toBe(2);
  expect(new Set(await recorded())).toEqual(new Set([renewed, newest].map(({ serial }) => serial)));
  // By what is left, an older enrolment is still fenced.
  const fenced = { clusterId: agent.clusterId, generation: 0, csr: (await newCsr()).csr };
  await expect(keys.issuer.signAgent(registration, 'default', fenced)).rejects.toMatchObject({ code: 'CONFLICT' });
});

it('hide no certificate that has not ended: these are listed first', async () => {
  const agent = await enrol(keys);
  await keys.database.query(
    `insert into certificates (serial, tenant_id, purpose, names, cluster_id, generation, authority_id, spki_sha256,
       not_before, not_after)
     select lpad(to_hex(n), 8, '0'), tenant_id, purpose, names, cluster_id, generation, authority_id, n::text,
       not_before + interval '1 minute', now() - interval '1 second'
     from certificates, generate_series(1, 250) n`,
  );
  const { clusterId } = agent;
  const listed = await keys.revocations.list({ tenantId: 'default', clusterId });
  expect([listed.certificates.length, listed.certificates[0]?.serial]).toEqual([200, agent.serial]);
  // What is issued meanwhile moves nobody to another page.
  await renew(keys, agent);
  const rest = await keys.revocations.list({ tenantId: 'default', clusterId }, listed.next);
  const serials = [...listed.certificates, ...rest.certificates].map(({ serial }) => serial);
  expect([serials.length, new Set(serials).size, rest.next]).toEqual([251, 251, undefined]);
  const other = await enrol(keys);
  for (const [tenant, after] of [
    ['default', other.serial],
    ['other', agent.serial],
    ['default', '0b'],
  ] as const) {
    const listing = keys.revocations.list({ tenantId: tenant, clusterId }, after);
    await expect(listing).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  }
});
