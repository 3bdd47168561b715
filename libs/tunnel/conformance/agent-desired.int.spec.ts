import type { HandoverMaps } from '@fairlead/agent';
import { FairleadError } from '@fairlead/errors';
import { startInstallation, type RunningAgent, type TestInstallation } from '@fairlead/installation';
import { eventually } from '@fairlead/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startAgentFacingReplica, type AgentFacingReplica, type AgentLink } from './scripted-replica.js';

const OBSERVE_MS = 100;

let installation: TestInstallation;
let replica: AgentFacingReplica;
let agent: RunningAgent;
let link: AgentLink;
let maps: Map<string, Record<string, string>>;

/** The agent's namespace; a real one is `libs/installation/handover`. */
const namespace: HandoverMaps = {
  read: (name) => Promise.resolve({ ...found(name) }),
  write: (name, { data }) => Promise.resolve(void Object.assign(found(name), data)),
};

function found(name: string): Record<string, string> {
  const map = maps.get(name);
  if (!map) throw new FairleadError('NOT_FOUND', 'there is none');
  return map;
}

beforeAll(async () => {
  installation = await startInstallation();
});

afterAll(() => installation?.[Symbol.asyncDispose]());

beforeEach(async () => {
  maps = new Map([
    ['fairlead-desired-state', {}],
    ['fairlead-installer-report', {}],
  ]);
  replica = await startAgentFacingReplica(installation.authority);
  const handover = { maps: namespace, observeMs: OBSERVE_MS };
  agent = await installation.startAgent({ replicas: [], endpoints: [replica.address], apiPort: 1, handover });
  link = replica.links[0] as AgentLink;
});

afterEach(async () => {
  await agent.stop();
  await replica[Symbol.asyncDispose]();
});

function tell(revision: bigint, document = `state ${revision}`, to: AgentLink = link): void {
  const signed = { signerChainPem: ['-----BEGIN CERTIFICATE-----'], signature: Buffer.from('proof') };
  to.say({ case: 'desiredState', value: { revision, document: Buffer.from(document), ...signed } });
}

function handedOver(): string {
  const text = maps.get('fairlead-desired-state')?.['handover'] ?? '{}';
  const { desiredState } = JSON.parse(text) as { desiredState?: { document: string } };
  return Buffer.from(desiredState?.document ?? '', 'base64').toString('utf8');
}

describe('the agent, told what is wanted of its cluster', () => {
  it('hands it over unread, and tells its next link which revision it has', async () => {
    expect(link.hello.desiredRevision).toBe(0n);
    tell(7n, 'not even JSON');
    await eventually(() => expect(handedOver()).toBe('not even JSON'));
    link.session.destroy();
    await eventually(() => expect(replica.links[1]?.hello.desiredRevision).toBe(7n));
  });

  it('of many that come at once hands over the last, and its link stays', async () => {
    for (let revision = 1n; revision <= 200n; revision += 1n) tell(revision);
    await eventually(() => expect(handedOver()).toBe('state 200'));
    expect(link.session.destroyed).toBe(false);
  });

  it('hands over nothing that is larger than any or has no revision, and its link stays', async () => {
    tell(1n);
    tell(2n, 'x'.repeat(60_000));
    tell(0n);
    tell(2n ** 63n);
    await eventually(() => expect(handedOver()).toBe('state 1'));
    tell(3n);
    await eventually(() => expect(handedOver()).toBe('state 3'));
    expect(link.session.destroyed).toBe(false);
  });
});

describe('the agent, of what its installer says', () => {
  it('says the newest, when it changed, and on its next link too', async () => {
    maps.set('fairlead-installer-report', { report: 'one' });
    await eventually(() => expect(link.reports).toEqual(['one']));
    maps.set('fairlead-installer-report', { report: 'two' });
    await eventually(() => expect(link.reports).toEqual(['one', 'two']));
    link.session.destroy();
    await eventually(() => expect(replica.links[1]?.reports).toEqual(['two']));
  });
});

it('an agent without a place for it takes no notice of what is wanted, and its link stays', async () => {
  await using other = await startAgentFacingReplica(installation.authority);
  const without = await installation.startAgent({ replicas: [], endpoints: [other.address], apiPort: 1 });
  const [its] = other.links as [AgentLink];
  tell(7n, 'state', its);
  its.session.ping(() => undefined);
  its.say({ case: 'openTunnels', value: { count: 3 } });
  await eventually(() => expect(its.tunnels.length).toBeGreaterThanOrEqual(3));
  expect([its.session.destroyed, its.hello.desiredRevision]).toEqual([false, 0n]);
  await without.stop();
});
