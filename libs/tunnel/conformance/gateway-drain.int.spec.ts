import { startInstallation, type Replica, type TestInstallation } from '@fairlead/installation';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClusterEntry } from '@fairlead/contracts';
import { ScriptedAgent, hello, type ControlScript } from './scripted-agent.js';
import type { GatewaySubject, KeyAndChain } from './gateway-subject.js';

let installation: TestInstallation;
let replica: Replica;
const agents: ScriptedAgent[] = [];

beforeAll(async () => {
  installation = await startInstallation();
  replica = await installation.startReplica('gateway-a');
});

afterAll(async () => {
  for (const agent of agents) await agent[Symbol.asyncDispose]();
  await installation?.[Symbol.asyncDispose]();
});

/** Dials as this enrolment of the cluster and says Hello. */
async function greet(
  { clusterId }: ClusterEntry,
  generation = 1,
  validity: { notBefore?: Date; notAfter?: Date } = {},
): Promise<{ agent: ScriptedAgent; control: ControlScript }> {
  const { authority } = installation;
  const { privateKeyPem, chainPem } = await authority.agent(clusterId, { generation, ...validity });
  const identity: KeyAndChain = { keyPem: privateKeyPem, chainPem };
  const subject = { link: replica.gateway.link.address, rootsPem: authority.roots } as unknown as GatewaySubject;
  const agent = await ScriptedAgent.dial(subject, identity);
  agents.push(agent);
  const control = agent.control();
  control.say(hello(clusterId));
  return { agent, control };
}

describe('an enrolment', () => {
  it('that was replaced is CERTIFICATE_REFUSED', async () => {
    const { control } = await greet(await installation.addCluster('replaced', 2), 1);
    expect(await control.refusal()).toEqual({ status: 7, code: 'CERTIFICATE_REFUSED' });
  });

  it('that is newer ends the links of the older one, which is not let in again', async () => {
    const cluster = await installation.addCluster('renewed');
    const old = await eventually(async () => {
      const link = await greet(cluster, 1);
      await link.control.welcome();
      return link;
    });
    const parked = old.agent.park();
    const renewed = await greet(cluster, 2);
    await renewed.control.welcome();
    await parked.gone();
    await eventually(() => expect(old.agent.http2.destroyed).toBe(true));
    const again = await greet(cluster, 1);
    expect(await again.control.refusal()).toEqual({ status: 7, code: 'CERTIFICATE_REFUSED' });
    expect(renewed.agent.http2.destroyed).toBe(false);
  });

  it.each([
    ['has expired', { notBefore: new Date(Date.now() - 7_200_000), notAfter: new Date(Date.now() - 3_600_000) }],
    ['is not valid yet', { notBefore: new Date(Date.now() + 3_600_000), notAfter: new Date(Date.now() + 7_200_000) }],
  ])('whose certificate %s is CERTIFICATE_REFUSED', async (_, validity) => {
    const { control } = await greet(installation.cluster, 1, validity);
    expect(await control.refusal()).toEqual({ status: 7, code: 'CERTIFICATE_REFUSED' });
  });

  it('of a cluster that nobody knows is CERTIFICATE_REFUSED', async () => {
    const { control } = await greet({ ...installation.cluster, clusterId: '0b5a1d0e-0000-4000-8000-000000000000' });
    expect(await control.refusal()).toEqual({ status: 7, code: 'CERTIFICATE_REFUSED' });
  });
});

describe('a replica that leaves', () => {
  it('says Drain on every link, takes no new one, and ends them when nothing runs', async () => {
    const first = await greet(installation.cluster);
    await first.control.welcome();
    const late = await greet(installation.cluster);
    await late.control.welcome();
    const third = await ScriptedAgent.dial({
      link: replica.gateway.link.address,
      rootsPem: installation.authority.roots,
      agent: await identityOf(installation),
    } as unknown as GatewaySubject);
    agents.push(third);
    const stopping = replica.stop();
    const refused = third.control();
    refused.say(hello(installation.cluster.clusterId));
    expect(await refused.refusal()).toEqual({ status: 14, code: 'DRAINING' });
    for (const { agent, control } of [first, late]) {
      await eventually(() => expect(agent.http2.destroyed).toBe(true));
      const drain = control.heard.find((kind) => kind.case === 'drain');
      expect(drain?.value.deadlineMs).toBeGreaterThan(0);
    }
    third.http2.destroy();
    await stopping;
  });
});

async function identityOf({ authority, cluster }: TestInstallation): Promise<KeyAndChain> {
  const { privateKeyPem, chainPem } = await authority.agent(cluster.clusterId);
  return { keyPem: privateKeyPem, chainPem };
}
