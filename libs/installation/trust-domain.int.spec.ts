import { eventually, testAuthority, type TestAuthority } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { closed, dialRelay, startRelayEnds } from './relay-ends.js';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';

let installation: TestInstallation;
/** Another installation below the same corporate root, whoever runs it. */
let neighbour: TestAuthority;
let replica: Replica;

beforeAll(async () => {
  installation = await startInstallation();
  neighbour = await testAuthority({ trustDomain: 'neighbour.example', below: installation.authority });
  replica = await installation.startReplica('gateway-a');
});

afterAll(() => installation?.[Symbol.asyncDispose]());

const otherDomain = expect.objectContaining({
  code: 'CERTIFICATE_REFUSED',
  reason: expect.stringContaining('another trust domain') as string,
}) as unknown;

it('an agent of another trust domain below our root gets no link', async () => {
  const neighbours = { replicas: [replica], apiPort: 1, certificateBy: neighbour, expectRefusal: true };
  await installation.startAgent(neighbours);
  await eventually(() => expect(replica.refusals).toContainEqual(otherDomain));
  expect(replica.refusals.find(({ door }) => door === 'link')).not.toHaveProperty('clusterId');
});

it('a gateway of another trust domain below our root is no replica of ours', async () => {
  await closed(dialRelay(installation, replica, await neighbour.gateway('gateway-b')));
  expect(replica.refusals.filter(({ door }) => door === 'relay')).toEqual([otherDomain]);
});

it('a replica relays nothing to a gateway of another trust domain below our root', async () => {
  const relayTo = async (authority: TestAuthority): Promise<void> => {
    await using ends = await startRelayEnds({
      trustDomain: installation.authority.trustDomain,
      roots: installation.authority.roots,
      server: await authority.gateway('gateway-b'),
      client: await installation.authority.gateway('gateway-a'),
    });
    await ends.tunnel();
  };
  // A dial has three seconds, which a busy machine may take from it.
  await eventually(() => relayTo(installation.authority));
  await eventually(() => expect(relayTo(neighbour)).rejects.toMatchObject({ code: 'UNTRUSTED_PEER' }));
});
