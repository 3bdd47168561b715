import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@fairlead/testing';
import { dialRelay, stillWorks } from './gateway-peers.js';
import { gatewaySubject, type GatewaySubject } from './gateway-subject.js';
import { ScriptedAgent, controlMessage, hello, type ControlScript, type LinkedAgent } from './scripted-agent.js';
import { TunnelScript } from './tunnel-script.js';
import { data, eof, grpcMessage, open, opened, reset } from './wire.js';

const UNAUTHENTICATED = 16;
const UNIMPLEMENTED = 12;
const RESOURCE_EXHAUSTED = 8;
const MAX_PARKED = 64;

let subject: GatewaySubject;
let link: LinkedAgent;

beforeAll(async () => {
  subject = await gatewaySubject();
  link = await ScriptedAgent.linked(subject);
});

afterAll(async () => {
  await link?.[Symbol.asyncDispose]();
  await subject?.[Symbol.asyncDispose]();
});

describe('Control', () => {
  it.each<[string, (control: ControlScript) => void, number, string]>([
    ['only a newer protocol', (c) => c.say(hello(subject.clusterId, { protocolVersion: 2 })), 9, 'VERSION_UNSUPPORTED'],
    ['no protocol version', (c) => c.say(hello(subject.clusterId, { protocolVersion: 0 })), 9, 'VERSION_UNSUPPORTED'],
    ['another cluster than its certificate', (c) => c.say(hello('elsewhere')), 7, 'WRONG_CLUSTER'],
    ['Facts before Hello', (c) => c.say({ case: 'facts', value: {} }), 13, 'PROTOCOL_ERROR'],
    ['TrustHeld before Hello', (c) => c.say({ case: 'trustHeld', value: { version: 1 } }), 13, 'PROTOCOL_ERROR'],
    ['a message without a kind', (c) => void c.stream.write(grpcMessage(Buffer.alloc(0))), 13, 'PROTOCOL_ERROR'],
    ['its end before Hello', (c) => void c.stream.end(), 13, 'PROTOCOL_ERROR'],
    ['no Hello in time', () => undefined, 4, 'DEADLINE_EXCEEDED'],
  ])('begun with %s is refused with its code, and other links stay', async (_, act, status, code) => {
    await using unauthenticated = await ScriptedAgent.dial(subject);
    const control = unauthenticated.control();
    act(control);
    expect(await control.refusal()).toEqual({ status, code });
    await stillWorks(subject, link);
  });

  it('is answered with the time at the gateway', async () => {
    await using unauthenticated = await ScriptedAgent.dial(subject);
    const beganMs = Date.now();
    const { stream } = unauthenticated.control();
    const [head] = (await once(stream, 'response')) as [{ date?: string }];
    const saidMs = Date.parse(head.date ?? '');
    expect(saidMs).toBeGreaterThan(beganMs - 5_000);
    expect(saidMs).toBeLessThan(Date.now() + 5_000);
  });

  it('by an agent one version newer, which still speaks ours, is welcomed in ours', async () => {
    await using newer = await ScriptedAgent.dial(subject);
    const control = newer.control();
    control.say(hello(subject.clusterId, { protocolVersion: 2, oldestProtocolVersion: 1, agentInstance: 'newer' }));
    await control.welcome();
    expect(control.heard[0]?.value).toMatchObject({ protocolVersion: 1 });
  });

  it.each<[string, Buffer]>([
    ['bytes that are not protobuf', grpcMessage(Buffer.from([0x0a, 0x7f]))],
    ['a message beyond 128 KiB', grpcMessage(Buffer.alloc(0), { announced: 128 * 1024 + 1 })],
    ['a compressed message', grpcMessage(Buffer.from([0]), { flags: 1 })],
  ])('begun with %s is refused, and other links stay', async (_, bytes) => {
    await using unauthenticated = await ScriptedAgent.dial(subject);
    const control = unauthenticated.control();
    control.stream.write(bytes);
    expect((await control.refusal()).status).toBeGreaterThan(0);
    await stillWorks(subject, link);
  });

  it('without a client certificate is UNAUTHENTICATED', async () => {
    await using unauthenticated = await ScriptedAgent.dial(subject, null);
    const control = unauthenticated.control();
    control.say(hello(subject.clusterId));
    expect(await control.refusal()).toEqual({ status: UNAUTHENTICATED, code: 'UNAUTHENTICATED' });
  });

  it('with a gateway’s certificate is CERTIFICATE_REFUSED', async () => {
    await using unauthenticated = await ScriptedAgent.dial(subject, subject.gateway);
    const control = unauthenticated.control();
    control.say(hello(subject.clusterId));
    expect(await control.refusal()).toEqual({ status: 7, code: 'CERTIFICATE_REFUSED' });
  });

  it('a second time on one connection is PROTOCOL_ERROR, and the link stays', async () => {
    await using once = await ScriptedAgent.linked(subject);
    const second = once.agent.control();
    second.say(hello(subject.clusterId));
    expect(await second.refusal()).toEqual({ status: 13, code: 'PROTOCOL_ERROR' });
    await stillWorks(subject, once);
  });

  it('takes Facts at any time', async () => {
    for (let i = 0; i < 20; i += 1) link.control.say({ case: 'facts', value: { agentVersion: String(i) } });
    // What is beyond all bounds counts as not said.
    const capabilities = Array.from({ length: 2_000 }, () => 'x'.repeat(50));
    const nodes = { total: 0xffff_ffff, ready: 0xffff_ffff };
    link.control.say({ case: 'facts', value: { agentVersion: 'v'.repeat(10_000), nodes, capabilities } });
    await stillWorks(subject, link);
    expect(link.control.outcome).toBeNull();
  });

  it.each([
    ['messages that say nothing', () => grpcMessage(Buffer.alloc(0))],
    ['Facts', () => controlMessage({ case: 'facts', value: {} })],
  ])('that has more %s to say than any agent ends its link, and no other', async (_, make) => {
    await using talkative = await ScriptedAgent.linked(subject);
    const { stream } = talkative.control;
    const message = make();
    stream.write(Buffer.concat(Array.from({ length: 90 }, () => message)));
    await stillWorks(subject, talkative);
    stream.on('error', () => undefined).write(Buffer.concat(Array.from({ length: 1_000 }, () => message)));
    await eventually(() => expect(talkative.agent.http2.destroyed).toBe(true));
    await stillWorks(subject, link);
  });

  it('that ends takes its link along, with every tunnel', async () => {
    await using leaving = await ScriptedAgent.linked(subject);
    const tunnel = leaving.agent.park();
    await eventually(() => expect(tunnel.stream.id).toBeGreaterThan(0));
    leaving.control.stream.end();
    await tunnel.gone();
    await eventually(() => expect(leaving.agent.http2.destroyed).toBe(true));
    await stillWorks(subject, link);
  });

  it('that says Hello a second time ends its link', async () => {
    await using confused = await ScriptedAgent.linked(subject);
    confused.control.say(hello(subject.clusterId));
    await eventually(() => expect(confused.agent.http2.destroyed).toBe(true));
    await stillWorks(subject, link);
  });
});

describe('a Tunnel call', () => {
  it('before Hello is UNAUTHENTICATED', async () => {
    await using unauthenticated = await ScriptedAgent.dial(subject);
    expect(await unauthenticated.park().rejected()).toBe(UNAUTHENTICATED);
  });

  it('that was refused is gone, even if its caller keeps its own half open', async () => {
    await using unauthenticated = await ScriptedAgent.dial(subject);
    const tunnel = unauthenticated.park();
    await tunnel.gone();
    expect(tunnel.grpcStatus).toBe(UNAUTHENTICATED);
  });

  it('that is not gRPC, and a method that does not exist, are UNIMPLEMENTED or not served', async () => {
    const plain = new TunnelScript(link.agent.call('Tunnel', { 'content-type': 'application/json' }));
    expect(await plain.rejected()).toBe(UNIMPLEMENTED);
    const unknown = link.agent.call('Nonsense');
    unknown.on('error', () => undefined).end();
    await new Promise((resolve) => unknown.once('response', resolve));
    unknown.close();
    await stillWorks(subject, link);
  });

  it('beyond the 64th that are parked is RESOURCE_EXHAUSTED; those before it stay', async () => {
    await using greedy = await ScriptedAgent.linked(subject);
    const parked = Array.from({ length: MAX_PARKED + 3 }, () => greedy.agent.park());
    const statuses = await Promise.all(parked.slice(MAX_PARKED).map((tunnel) => tunnel.rejected()));
    expect(new Set(statuses)).toEqual(new Set([RESOURCE_EXHAUSTED]));
    expect(parked.slice(0, MAX_PARKED).every(({ stream }) => !stream.closed)).toBe(true);
  });

  it.each<[string, (tunnel: TunnelScript) => void]>([
    ['data', (tunnel) => tunnel.send(data('x'))],
    ['Opened', (tunnel) => tunnel.send(opened)],
    ['Eof', (tunnel) => tunnel.send(eof)],
    ['Reset', (tunnel) => tunnel.send(reset('INTERNAL'))],
    ['one byte', (tunnel) => tunnel.send(Buffer.from([0]))],
    ['END_STREAM', (tunnel) => tunnel.end()],
    ['RST_STREAM', (tunnel) => tunnel.cancel(8)],
  ])('that is parked and says %s is ended, and the link stays', async (_, act) => {
    const tunnel = link.agent.park();
    await eventually(() => expect(tunnel.stream.sentHeaders).toBeDefined());
    act(tunnel);
    await tunnel.gone();
    expect(tunnel.frames).toEqual([]);
    await stillWorks(subject, link);
  });
});

describe('OpenTunnels', () => {
  const asked = (control: ControlScript): number =>
    control.heard.reduce((sum, kind) => sum + (kind.case === 'openTunnels' ? kind.value.count : 0), 0);

  it('asks for as many as wait, in few messages; beyond 256 is AGENT_OVERLOADED', async () => {
    await using replica = await dialRelay(subject);
    const before = asked(link.control);
    const waiting = Array.from({ length: 256 }, () => {
      const tunnel = replica.tunnel();
      tunnel.send(open(subject.clusterId));
      return tunnel;
    });
    await eventually(() => expect(asked(link.control) - before).toBeGreaterThanOrEqual(256));
    // And as many as are kept ready on a busy link; once more, if the ten seconds of a calm that began earlier end meanwhile.
    expect(asked(link.control) - before).toBeLessThanOrEqual(256 + 2 * 32);
    for (const { value } of link.control.heard.filter((kind) => kind.case === 'openTunnels')) {
      expect(value.count).toBeLessThanOrEqual(256);
    }
    const tooMany = replica.tunnel();
    tooMany.send(open(subject.clusterId));
    expect(await tooMany.verdict()).toEqual({ frame: 'refused', code: 'AGENT_OVERLOADED' });
    const served = link.agent.park();
    await served.heard('open');
    served.cancel(8);
    for (const tunnel of waiting) tunnel.cancel(8);
    await Promise.all(waiting.map((tunnel) => tunnel.gone()));
    await stillWorks(subject, link);
  });
});

describe('how many links a replica holds', () => {
  const told = (control: ControlScript): number[] =>
    control.heard.flatMap((kind) => (kind.case === 'welcome' || kind.case === 'crowd' ? [kind.value.links] : []));

  it('is said in Welcome, and to all of them when it doubled or halved', async () => {
    await eventually(async () => {
      await using only = await ScriptedAgent.linked(subject);
      expect(told(only.control)).toEqual([2]);
    });
    const before = told(link.control).length;
    const others: LinkedAgent[] = [];
    for (let i = 0; i < 7; i += 1) others.push(await ScriptedAgent.linked(subject));
    expect(others.map(({ control }) => told(control)[0])).toEqual([2, 3, 4, 5, 6, 7, 8]);
    await eventually(() => expect(told(link.control).slice(before)).toEqual([4, 8]));
    await eventually(() => expect(others.map(({ control }) => told(control).at(-1))).toEqual(others.map(() => 8)));
    await Promise.all(others.map((other) => other[Symbol.asyncDispose]()));
    await eventually(() => expect(told(link.control).slice(before)).toEqual([4, 8, 3, 1]));
  });
});

describe('links of one cluster', () => {
  it('are sixteen at most: the oldest goes', async () => {
    const links: LinkedAgent[] = [];
    for (let i = 0; i < 16; i += 1) links.push(await ScriptedAgent.linked(subject));
    await eventually(() => expect(link.agent.http2.destroyed).toBe(true));
    expect(links.every(({ agent }) => !agent.http2.destroyed)).toBe(true);
    await Promise.all(links.map((other) => other[Symbol.asyncDispose]()));
    link = await ScriptedAgent.linked(subject);
    await stillWorks(subject, link);
  });
});
