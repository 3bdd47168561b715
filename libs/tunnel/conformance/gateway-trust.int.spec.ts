import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stillWorks } from './gateway-peers.js';
import { gatewaySubject, type GatewaySubject } from './gateway-subject.js';
import { ScriptedAgent, type ControlScript } from './scripted-agent.js';

let subject: GatewaySubject;

beforeAll(async () => {
  subject = await gatewaySubject();
});

afterAll(() => subject?.[Symbol.asyncDispose]());

interface Roots {
  readonly version: number;
  readonly rootsPem: string[];
}

/** Versions and roots that this link was told, unverified. */
const told = ({ heard }: ControlScript): Roots[] =>
  heard.flatMap((kind) =>
    kind.case === 'trust' ? [JSON.parse(Buffer.from(kind.value.bundle).toString('utf8')) as Roots] : [],
  );

async function currentVersion(): Promise<number> {
  await using fresh = await ScriptedAgent.linked(subject);
  // Not before it is over: the link ends with this function.
  return await eventually(() => {
    const [first] = told(fresh.control);
    if (!first) throw new Error('nothing was told');
    return first.version;
  });
}

/** What replicas reported of this cluster, if this checkout's replica is the subject. */
const reported = (): readonly unknown[] | undefined =>
  subject.installation?.ca.acknowledged.map(({ clusterId, version }) => ({ clusterId, version }));

describe('a gateway', () => {
  it('tells an agent that holds no bundle, or an older one, which roots count: after Welcome, once', async () => {
    await using fresh = await ScriptedAgent.linked(subject, { trustVersion: 0 });
    await eventually(() => expect(told(fresh.control)).toHaveLength(1));
    expect(fresh.control.heard[0]?.case).toBe('welcome');
    expect(told(fresh.control)[0]?.rootsPem.map((pem) => pem.trim())).toEqual(
      expect.arrayContaining(subject.rootsPem.map((pem) => pem.trim())),
    );
    await stillWorks(subject, fresh);
    expect(told(fresh.control)).toHaveLength(1);
  });

  it('tells an agent nothing that holds the current one, or claims to hold a newer one', async () => {
    const version = await currentVersion();
    await using current = await ScriptedAgent.linked(subject, { trustVersion: version });
    await using ahead = await ScriptedAgent.linked(subject, { trustVersion: version + 1 });
    // Who links later is told later.
    expect(await currentVersion()).toBe(version);
    expect([told(current.control), told(ahead.control)]).toEqual([[], []]);
    expect([current.control.outcome, ahead.control.outcome]).toEqual([null, null]);
  });

  it('takes TrustHeld at any time, as often as a link may say anything, and only what it told counts', async () => {
    const version = await currentVersion();
    await using agent = await ScriptedAgent.linked(subject, { trustVersion: 0 });
    for (const other of [0, version + 1, 0xff_ff_ff_ff])
      agent.control.say({ case: 'trustHeld', value: { version: other } });
    for (let i = 0; i < 90; i += 1) agent.control.say({ case: 'trustHeld', value: { version } });
    await stillWorks(subject, agent);
    expect(agent.control.outcome).toBeNull();
    const { clusterId } = subject;
    await eventually(() => expect(reported() ?? [{ clusterId, version }]).toEqual([{ clusterId, version }]));
  });
});
