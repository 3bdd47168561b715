import { constants } from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import { startInstallation, type RunningAgent, type TestInstallation } from '@fairlead/installation';
import { collectLines, type CollectedLine } from '@fairlead/observability/testing';
import { eventually } from '@fairlead/testing';
import { startRecordingApiServer, type RecordingApiServer } from '@fairlead/tunnel/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startAgentFacingReplica, welcome, type AgentFacingReplica, type AgentLink } from './scripted-replica.js';
import type { TunnelScript } from './tunnel-script.js';
import { MALFORMED, data, eof, grpcMessage, open, opened, refused, reset, type OpenInit } from './wire.js';

const REQUEST = data('GET /api HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
const MAX_TUNNELS = 1024;

let installation: TestInstallation;
let api: RecordingApiServer;
let replica: AgentFacingReplica;
let agent: RunningAgent;
let link: AgentLink;
let lines: CollectedLine[];

beforeAll(async () => {
  installation = await startInstallation();
  api = await startRecordingApiServer(installation.authority);
  api.handle = (_request, response) => void response.end('whole');
});

afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
});

beforeEach(async () => {
  replica = await startAgentFacingReplica(installation.authority);
  const collected = collectLines();
  lines = collected.lines;
  const { logger } = collected;
  agent = await installation.startAgent({ replicas: [], endpoints: [replica.address], apiPort: api.port, logger });
  link = replica.links[0] as AgentLink;
});

afterEach(async () => {
  await agent.stop();
  await replica[Symbol.asyncDispose]();
});

const clusterId = (): string => installation.cluster.clusterId;
const bare = (tunnel: TunnelScript): boolean => !tunnel.stream.closed && !used.has(tunnel);
const used = new WeakSet<TunnelScript>();

/** A parked tunnel; asks for one if there is none. */
async function take(from: AgentLink = link): Promise<TunnelScript> {
  if (!from.tunnels.some(bare)) from.say({ case: 'openTunnels', value: { count: 1 } });
  return eventually(() => {
    const tunnel = from.tunnels.find(bare);
    if (!tunnel) throw new Error('nothing is parked');
    used.add(tunnel);
    return tunnel;
  });
}

async function takeOpen(): Promise<TunnelScript> {
  const tunnel = await take();
  tunnel.send(open(clusterId()));
  await tunnel.heard('opened');
  return tunnel;
}

/** A whole request on a fresh tunnel of this link. */
async function linkWorks(from: AgentLink = link): Promise<void> {
  const tunnel = await take(from);
  tunnel.send(open(clusterId()));
  await tunnel.heard('opened');
  tunnel.send(REQUEST);
  await tunnel.heard('eof');
  expect(tunnel.bytes.toString()).toMatch(/^HTTP\/1\.1 200 OK[^]*whole/);
  tunnel.end(eof);
  await tunnel.gone();
}

const states = { parked: take, open: takeOpen };

type Case = readonly [state: keyof typeof states, event: string, frames: () => readonly Buffer[]];

const BREAKS: readonly Case[] = [
  ['parked', 'data', () => [data('x')]],
  ['parked', 'Opened from the opener', () => [opened]],
  ['parked', 'Refused from the opener', () => [refused('INTERNAL')]],
  ['parked', 'Eof', () => [eof]],
  ['parked', 'Open twice', () => [open(clusterId()), open(clusterId())]],
  ['open', 'Open again', () => [open(clusterId())]],
  ['open', 'Opened from the opener', () => [opened]],
  ['open', 'Refused from the opener', () => [refused('INTERNAL')]],
  ['open', 'data after Eof', () => [eof, data('x')]],
  ['open', 'Eof twice', () => [eof, eof]],
  ...Object.entries(MALFORMED).flatMap(([event, bytes]): Case[] => [
    ['parked', event, () => [bytes]],
    ['open', event, () => [bytes]],
  ]),
];

describe('the agent, acceptor of a tunnel', () => {
  it.each(BREAKS)('%s × %s: PROTOCOL_ERROR, and the link stays', async (state, _, frames) => {
    const tunnel = await states[state]();
    tunnel.send(...frames());
    expect(await tunnel.verdict()).toEqual({ frame: 'reset', code: 'PROTOCOL_ERROR' });
    tunnel.end();
    await tunnel.gone();
    await linkWorks();
  });

  it.each<[string, OpenInit, string]>([
    ['another cluster', { clusterId: 'elsewhere' }, 'WRONG_CLUSTER'],
    ['a newer enrolment', { generation: 2 }, 'NO_SESSION'],
    ['nobody', { target: { case: 'kubeApi', value: {} } }, 'IDENTITY_REFUSED'],
    ['system:admin', { target: { case: 'kubeApi', value: { user: 'system:admin' } } }, 'IDENTITY_REFUSED'],
    [
      'a member of system:masters',
      { target: { case: 'kubeApi', value: { user: 'a', groups: ['system:masters'] } } },
      'IDENTITY_REFUSED',
    ],
    [
      'somebody with a statement that nobody signed',
      { target: { case: 'kubeApi', value: { user: 'alice', statement: Buffer.from('\x01\x01\x00\x01') } } },
      'STATEMENT_REFUSED',
    ],
    ['no target', { target: { case: undefined } }, 'INVALID_ARGUMENT'],
    ['a target nobody allowed', { target: { case: 'tcp', value: { host: '127.0.0.1', port: 1 } } }, 'TARGET_REFUSED'],
  ])('parked × Open for %s: Refused, and the link stays', async (_, changes, code) => {
    const tunnel = await take();
    tunnel.send(open(clusterId(), changes));
    expect(await tunnel.verdict()).toEqual({ frame: 'refused', code });
    tunnel.end();
    await tunnel.gone();
    await linkWorks();
  });

  const CUT = grpcMessage(Buffer.from('\n\x64GET /'), { announced: 102 });
  it.each<[keyof typeof states, string, (tunnel: TunnelScript) => void]>([
    ['parked', 'RST_STREAM', (tunnel) => tunnel.cancel(constants.NGHTTP2_CANCEL)],
    ['open', 'RST_STREAM', (tunnel) => tunnel.cancel(constants.NGHTTP2_CANCEL)],
    ['parked', 'END_STREAM', (tunnel) => tunnel.end()],
    ['open', 'END_STREAM', (tunnel) => tunnel.end()],
    ['open', 'END_STREAM in the middle of a message', (tunnel) => tunnel.end(CUT)],
    ['parked', 'Reset', (tunnel) => tunnel.end(reset('DRAINING'))],
    ['open', 'Reset', (tunnel) => tunnel.end(reset('FROM_THE_FUTURE'))],
    ['open', 'an empty data frame and Reset', (tunnel) => tunnel.end(data(''), reset('DRAINING'))],
  ])('%s × %s: the tunnel is gone, unanswered, and the link stays', async (state, _, act) => {
    const tunnel = await states[state]();
    act(tunnel);
    await tunnel.gone();
    expect(tunnel.frames.filter((frame) => frame.case !== 'opened')).toEqual([]);
    await linkWorks();
  });

  it('cancels a stream that its peer does not end after a Reset, within the linger', async () => {
    const tunnel = await takeOpen();
    tunnel.send(opened);
    await tunnel.verdict();
    await tunnel.gone();
    expect(tunnel.stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
  });
});

describe('the agent, on Control', () => {
  it('parks one tunnel, in silence, and another for each one used', async () => {
    expect(link.hello).toMatchObject({ protocolVersion: 1, clusterId: clusterId(), link: 0 });
    await eventually(() => expect(link.tunnels).toHaveLength(1));
    await linkWorks();
    await eventually(() => expect(link.tunnels.filter(bare)).toHaveLength(1));
    expect(link.tunnels.find(bare)?.frames).toEqual([]);
  });

  it('says what is known of its cluster in Hello, and once more when that changes, the newest only', async () => {
    const before = { agentVersion: '1', kubernetesVersion: 'v1', platform: 'p', nodes: { total: 1, ready: 1 } };
    const listeners = new Set<(facts: typeof before) => void>();
    const onChange = (listener: (facts: typeof before) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    };
    const facts = { current: () => Promise.resolve(before), onChange };
    await using other = await startAgentFacingReplica(installation.authority);
    const talks = await installation.startAgent({ replicas: [], endpoints: [other.address], apiPort: api.port, facts });
    const heard = other.links[0] as AgentLink;
    expect(heard.hello.facts).toMatchObject({ ...before, capabilities: [], distribution: '' });
    for (const listener of listeners) for (const total of [2, 3]) listener({ ...before, nodes: { total, ready: 0 } });
    await eventually(() => expect(heard.facts).toMatchObject([{ kubernetesVersion: 'v1', nodes: { total: 3 } }]));
    await talks.stop();
    expect(listeners.size).toBe(0);
  });

  it('does not park anew by itself what a gateway turned away', async () => {
    await eventually(() => expect(link.tunnels).toHaveLength(1));
    link.tunnels[0]?.cancel(constants.NGHTTP2_REFUSED_STREAM);
    await delay(300);
    expect(link.tunnels).toHaveLength(1);
    await linkWorks();
  });

  it('parks as many more as it is asked for, and never beyond its limit', async () => {
    link.say({ case: 'openTunnels', value: { count: 3 } });
    await eventually(() => expect(link.tunnels).toHaveLength(4));
    link.say({ case: 'openTunnels', value: { count: 0 } });
    for (let i = 0; i < 200; i += 1) link.say({ case: 'openTunnels', value: { count: 0xffff_ffff } });
    await eventually(() => expect(link.tunnels).toHaveLength(MAX_TUNNELS));
    await delay(200);
    expect(link.tunnels).toHaveLength(MAX_TUNNELS);
    await linkWorks();
  });

  it('parks no more after Drain, finishes what runs, and links anew', async () => {
    const running = await takeOpen();
    await eventually(() => expect(link.tunnels).toHaveLength(2));
    link.say({ case: 'drain', value: { deadlineMs: 5_000 } });
    link.say({ case: 'openTunnels', value: { count: 5 } });
    const next = await eventually(() => {
      if (replica.links.length < 2) throw new Error('no second link yet');
      return replica.links[1] as AgentLink;
    });
    expect(link.tunnels).toHaveLength(2);
    running.send(REQUEST);
    await running.heard('eof');
    expect(running.bytes.toString()).toContain('whole');
    running.end(eof);
    await eventually(() => expect(link.session.destroyed).toBe(true));
    await linkWorks(next);
  });

  it('keeps a link that is to be left, though nothing runs on it, until the next one stands', async () => {
    const asked: AgentLink[] = [];
    replica.greet = (next) => void asked.push(next);
    link.say({ case: 'drain', value: { deadlineMs: 30_000 } });
    const next = await eventually(() => {
      if (!asked[0]) throw new Error('no second link yet');
      return asked[0];
    });
    expect(link.session.destroyed).toBe(false);
    welcome(next);
    await eventually(() => expect(link.session.destroyed).toBe(true));
    await linkWorks(next);
  });

  it('leaves a link without a next one when the replica waits no longer', async () => {
    const unanswered: AgentLink[] = [];
    replica.greet = (next) => void unanswered.push(next);
    const beganMs = performance.now();
    link.say({ case: 'drain', value: { deadlineMs: 700 } });
    await eventually(() => expect(link.session.destroyed).toBe(true));
    expect(performance.now() - beganMs).toBeGreaterThan(600);
    replica.greet = (later) => welcome(later);
    for (const { session } of unanswered) session.destroy();
    await eventually(() => expect(replica.links.length).toBeGreaterThan(1 + unanswered.length));
  });

  it('does not wait for a Welcome when it is told to stop', async () => {
    const asked: AgentLink[] = [];
    replica.greet = (next) => void asked.push(next);
    link.session.destroy();
    await eventually(() => expect(asked).toHaveLength(1));
    const beganMs = performance.now();
    await agent.stop();
    // It would wait for fifteen seconds.
    expect(performance.now() - beganMs).toBeLessThan(12_000);
    await eventually(() => expect(asked[0]?.session.destroyed).toBe(true));
  });

  it.each<[string, number, (link: AgentLink) => void]>([
    ['Welcome', 1, () => undefined],
    ['Crowd', 1_000, (now) => now.say({ case: 'crowd', value: { links: 1 } })],
  ])('comes back soon to a replica that is said to have few links, by %s', async (_, links, say) => {
    replica.greet = (next) => {
      welcome(next, links);
      say(next);
    };
    link.session.destroy();
    const rounds = 6;
    for (let round = 1; round <= rounds; round += 1) {
      await eventually(() => expect(replica.links).toHaveLength(1 + round));
      await linkWorks(replica.links[round]);
      replica.links[round]?.session.destroy();
    }
    await eventually(() => expect(replica.links).toHaveLength(2 + rounds));
    const waits = lines.filter(({ event }) => event === 'link.waiting').map(({ waitMs }) => Number(waitMs));
    // The first was before the replica said how many. Up to 50 ms each; an agent that was told nothing waits up to a second.
    expect(waits).toHaveLength(1 + rounds);
    expect(Math.max(...waits.slice(1))).toBeLessThanOrEqual(50);
  });

  it.each<[string, (link: AgentLink) => void]>([
    ['OpenTunnels', (first) => first.say({ case: 'openTunnels', value: { count: 1 } })],
    ['a message without a kind', (first) => first.sayRaw(grpcMessage(Buffer.alloc(0)))],
    ['another version', (first) => first.say({ case: 'welcome', value: { gatewayInstance: 'i', protocolVersion: 2 } })],
    ['bytes that are not protobuf', (first) => first.sayRaw(grpcMessage(Buffer.from([0x0a, 0x7f])))],
    ['a message beyond 256 KiB', (first) => first.sayRaw(grpcMessage(Buffer.alloc(0), { announced: 0x7fff_ffff }))],
    ['a trust bundle', (first) => first.say({ case: 'trust', value: {} })],
    ['its end', (first) => first.endControl()],
  ])('that begins with %s instead of Welcome, ends the link unused and tries again', async (_, begin) => {
    replica.greet = (next) => {
      replica.greet = (later) => welcome(later);
      begin(next);
    };
    link.session.destroy();
    await eventually(() => expect(replica.links).toHaveLength(3));
    expect(replica.links[1]?.session.destroyed).toBe(true);
    expect(replica.links[1]?.tunnels).toEqual([]);
    await linkWorks(replica.links[2]);
  });

  it.each<[string, (link: AgentLink) => void]>([
    ['bytes that are not protobuf', (now) => now.sayRaw(grpcMessage(Buffer.from([0x0a, 0x7f])))],
    ['its end', (now) => now.endControl()],
  ])('that goes on with %s, ends the link and makes another', async (_, act) => {
    await linkWorks();
    act(link);
    await eventually(() => expect(link.session.destroyed).toBe(true));
    await eventually(() => expect(replica.links).toHaveLength(2));
    await linkWorks(replica.links[1]);
  });
});
