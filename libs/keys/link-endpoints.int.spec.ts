import 'reflect-metadata';
import { Envelope } from '@fairlead/events';
import { readTrust } from '@fairlead/pki';
import { expect, it } from 'vitest';
import { api, enrol, keysOfEach, type KeysProcess } from './testing/keys-fixture.js';

const BY = 'ops@example.com';
const old = { address: 'old.example.com:443', weight: 1, state: 'active' } as const;
const fresh = {
  address: 'new.example.com:443',
  serverName: 'link.example.com',
  region: 'eu',
  weight: 3,
  state: 'active',
} as const;

let one: KeysProcess;
let two: KeysProcess;

const fixture = keysOfEach(async () => {
  [one, two] = await Promise.all([fixture.start(), fixture.start()]);
});

/** What agents are told, by this process. */
async function told({ ca }: KeysProcess): Promise<Pick<ReturnType<typeof readTrust>, 'version' | 'endpoints'>> {
  const { signed } = await ca.trustBundle();
  const { version, endpoints } = readTrust(Buffer.from(signed.bundle, 'base64'));
  return { version, endpoints };
}

async function events(): Promise<{ subject: string; actor: unknown; data: Record<string, unknown> }[]> {
  const rows = (await one.database.query('select body from outbox order by id')) as { body: string }[];
  return rows
    .map(({ body }) => Envelope.parse(JSON.parse(body)))
    .filter(({ type }) => type === 'dev.fairlead.endpoints.changed.v1') as never;
}

it('signs each change as the next version of the trust bundle, in every process, and tells who made it', async () => {
  expect(await told(one)).toEqual({ version: 1, endpoints: [] });
  expect(await one.endpoints.put(api, { by: BY }, old)).toMatchObject({ trustVersion: 2, endpoints: [old] });
  expect(await two.endpoints.put(api, { by: BY }, fresh)).toMatchObject({ trustVersion: 3, endpoints: [fresh, old] });
  expect(await told(one)).toEqual({ version: 3, endpoints: [fresh, old] });
  await one.endpoints.put(api, { by: BY }, { ...old, state: 'draining' });
  await two.endpoints.remove(api, { by: BY }, old.address);
  expect(await told(two)).toEqual({ version: 5, endpoints: [fresh] });
  expect((await one.ca.trustBundle()).endpoints).toEqual([fresh]);
  const said = await events();
  expect(said.map(({ data }) => data['trustVersion'])).toEqual([2, 3, 4, 5]);
  expect(said.at(-1)).toMatchObject({
    subject: `endpoint/${old.address}`,
    data: { endpoints: [fresh], actor: { id: BY } },
  });
});

it('changes only the list that somebody has seen, if that is said', async () => {
  const { revision } = await one.endpoints.put(api, { by: BY }, old);
  const { revision: next } = await two.endpoints.put(api, { by: BY, ifRevision: revision }, fresh);
  const conflict = { code: 'REVISION_CONFLICT' };
  const late = { by: BY, ifRevision: revision };
  await expect(one.endpoints.put(api, late, { ...old, weight: 2 })).rejects.toMatchObject(conflict);
  await expect(one.endpoints.remove(api, late, old.address)).rejects.toMatchObject(conflict);
  expect(await told(one)).toEqual({ version: 3, endpoints: [fresh, old] });
  await one.endpoints.remove(api, { by: BY, ifRevision: next }, old.address);
});

it('makes no version and no event of what is so already, or is refused', async () => {
  await one.endpoints.put(api, { by: BY }, old);
  await two.endpoints.put(api, { by: BY }, old);
  await expect(one.endpoints.put(api, { by: BY }, { ...old, state: 'draining' })).rejects.toMatchObject({
    code: 'CONFLICT',
  });
  await expect(one.endpoints.remove(api, { by: BY }, fresh.address)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect(await told(one)).toEqual({ version: 2, endpoints: [old] });
  expect(await events()).toHaveLength(1);
});

it('says how many clusters were told, and tells agents when there are none any more', async () => {
  const [first] = [await enrol(one), await enrol(one)];
  expect(await one.endpoints.put(api, { by: BY }, old)).toMatchObject({ clusters: 2, clustersTold: 0 });
  await two.rotation.acknowledge([{ clusterId: first.clusterId, version: 2 }]);
  expect(await two.endpoints.list()).toMatchObject({ trustVersion: 2, clusters: 2, clustersTold: 1 });
  await one.endpoints.remove(api, { by: BY }, old.address);
  expect(await told(two)).toEqual({ version: 3, endpoints: [] });
});

it('goes on through a rotation, and says it again where a process from before signed without', async () => {
  await one.endpoints.put(api, { by: BY }, fresh);
  await one.rotation.rotate(api, { step: 'prepare', force: false });
  expect(await told(two)).toMatchObject({ version: 3, endpoints: [fresh] });
  // As if it had not been signed with them.
  await one.database.query('update link_endpoints set weight = 7');
  await two.ca.publishRevokedGateways();
  expect(await told(one)).toEqual({ version: 4, endpoints: [{ ...fresh, weight: 7 }] });
  await two.ca.publishRevokedGateways();
  expect(await told(one)).toMatchObject({ version: 4 });
});

it('leaves the last versions of a day to what may have to follow at once', async () => {
  fixture.nowMs = Date.UTC(2026, 0, 1);
  await one.database.query('update trust_bundles set version = 980');
  const late = await fixture.start();
  await expect(late.endpoints.put(api, { by: BY }, old)).rejects.toMatchObject({ code: 'CONFLICT' });
  await one.database.query('update trust_bundles set version = 900');
  await expect((await fixture.start()).endpoints.put(api, { by: BY }, old)).resolves.toMatchObject({
    trustVersion: 901,
  });
});
