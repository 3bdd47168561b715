import { constants } from 'node:http2';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callSubject, dialRelay, stillWorks, type DoorOutcome, type ScriptedReplica } from './gateway-peers.js';
import { gatewaySubject, type GatewaySubject } from './gateway-subject.js';
import { ScriptedAgent, type LinkedAgent } from './scripted-agent.js';
import type { TunnelScript } from './tunnel-script.js';
import { MALFORMED, data, eof, grpcMessage, open, opened, refused, reset } from './wire.js';

let subject: GatewaySubject;
let link: LinkedAgent;
let replica: ScriptedReplica;

beforeAll(async () => {
  subject = await gatewaySubject();
  link = await ScriptedAgent.linked(subject);
  replica = await dialRelay(subject);
});

afterAll(async () => {
  await replica?.[Symbol.asyncDispose]();
  await link?.[Symbol.asyncDispose]();
  await subject?.[Symbol.asyncDispose]();
});

/** A tunnel the gateway has sent Open on, and the request that waits for it. */
async function opening(
  method: 'GET' | 'POST' = 'GET',
): Promise<{ tunnel: TunnelScript; answer: Promise<DoorOutcome> }> {
  const tunnel = link.agent.park();
  const answer = callSubject(subject, method);
  await tunnel.heard('open');
  return { tunnel, answer };
}

/** The same, after Opened, when the request's bytes are here. */
async function flowing(method?: 'GET' | 'POST'): ReturnType<typeof opening> {
  const begun = await opening(method);
  begun.tunnel.send(opened);
  await begun.tunnel.heard('data');
  return begun;
}

const states = { opening, open: flowing };

type Case = readonly [state: keyof typeof states, event: string, frames: readonly Buffer[]];

const BREAKS: readonly Case[] = [
  ['opening', 'data', [data('x')]],
  ['opening', 'Eof', [eof]],
  ['opening', 'Open from the acceptor', [open('c')]],
  ['opening', 'Opened twice at once', [opened, opened]],
  ['opening', 'Opened, Eof and data at once', [opened, eof, data('x')]],
  ['opening', 'Opened and Eof twice at once', [opened, eof, eof]],
  ['open', 'Opened again', [opened]],
  ['open', 'Refused', [refused('TARGET_UNREACHABLE')]],
  ['open', 'Open from the acceptor', [open('c')]],
  ['open', 'data after Eof', [eof, data('x')]],
  ['open', 'Eof twice', [eof, eof]],
  ...Object.entries(MALFORMED).flatMap(([event, bytes]): Case[] => [
    ['opening', event, [bytes]],
    ['open', event, [bytes]],
  ]),
];

describe('the gateway, opener of a tunnel of its own', () => {
  it.each(BREAKS)('%s × %s: PROTOCOL_ERROR, and nothing else breaks', async (state, _, frames) => {
    const { tunnel, answer } = await states[state]();
    tunnel.send(...frames);
    expect(await tunnel.verdict()).toEqual({ frame: 'reset', code: 'PROTOCOL_ERROR' });
    expect((await answer).status).toBe(502);
    tunnel.end();
    await tunnel.gone();
    await stillWorks(subject, link);
  });

  it.each([
    ['opening', 'Refused', refused('TARGET_UNREACHABLE'), 502, 'TARGET_UNREACHABLE'],
    ['opening', 'Refused with a code it does not know', refused('FROM_THE_FUTURE'), 500, 'INTERNAL'],
    ['opening', 'Refused: try another', refused('NO_SESSION'), 503, 'AGENT_RECONNECTING'],
    ['opening', 'Reset', reset('TARGET_REFUSED'), 403, 'TARGET_REFUSED'],
    ['open', 'Reset', reset('TUNNEL_RESET'), 502, 'TUNNEL_RESET'],
    ['open', 'Reset with a code it does not know', reset('FROM_THE_FUTURE'), 500, 'INTERNAL'],
    ['open', 'an empty data frame and then Reset', Buffer.concat([data(''), reset('TARGET_UNREACHABLE')]), 502, ''],
  ] as const)('%s × %s: told as it is, without an answer in kind', async (state, _, bytes, status, code) => {
    const { tunnel, answer } = await states[state]();
    tunnel.send(bytes);
    const outcome = await answer;
    expect(outcome).toMatchObject({ status });
    expect(outcome.body).toContain(code);
    tunnel.end();
    await tunnel.gone();
    expect(tunnel.has('reset')).toBe(false);
    await stillWorks(subject, link);
  });

  const CUT = grpcMessage(Buffer.from([0x0a, 100, 1, 2, 3]), { announced: 102 });
  it.each([
    ['opening', 'RST_STREAM', (tunnel: TunnelScript) => tunnel.cancel(constants.NGHTTP2_CANCEL), 503],
    ['open', 'RST_STREAM', (tunnel: TunnelScript) => tunnel.cancel(constants.NGHTTP2_CANCEL), 502],
    ['opening', 'END_STREAM', (tunnel: TunnelScript) => tunnel.end(), 503],
    ['open', 'END_STREAM', (tunnel: TunnelScript) => tunnel.end(), 502],
    ['open', 'END_STREAM in the middle of a message', (tunnel: TunnelScript) => tunnel.end(CUT), 502],
    ['open', 'END_STREAM in the middle of a prefix', (tunnel: TunnelScript) => tunnel.end(Buffer.from([0, 0])), 502],
  ] as const)('%s × %s: lost, never a clean end', async (state, _, act, status) => {
    const { tunnel, answer } = await states[state]('POST');
    act(tunnel);
    expect((await answer).status).toBe(status);
    await tunnel.gone();
    await stillWorks(subject, link);
  });

  it('closed × anything: not heard', async () => {
    const { tunnel, answer } = await flowing();
    const head = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nwhole';
    tunnel.send(data(head), eof);
    await tunnel.heard('eof');
    tunnel.send(reset('INTERNAL'), data('more'), opened);
    expect(await answer).toEqual({ status: 200, body: 'whole' });
    expect(tunnel.has('reset')).toBe(false);
    await stillWorks(subject, link);
  });
});

describe('the gateway, acceptor of a relayed tunnel', () => {
  it.each([
    ['data before Open', [data('x')]],
    ['Opened from the opener', [opened]],
    ['Eof before Open', [eof]],
    ['Open twice', [open('c'), open('c')]],
    ['data right behind Open', [open('c'), data('x')]],
    ['half a message behind Open', [open('c'), Buffer.from([0, 0, 0])]],
    ...Object.entries(MALFORMED).map(([event, bytes]) => [event, [bytes]] as const),
  ] as const)('parked × %s: PROTOCOL_ERROR', async (_, frames) => {
    const tunnel = replica.tunnel();
    tunnel.send(...frames);
    expect(await tunnel.verdict()).toEqual({ frame: 'reset', code: 'PROTOCOL_ERROR' });
    tunnel.end();
    await tunnel.gone();
    await stillWorks(subject, link);
  });

  it('parked × END_STREAM: answers at once, and ends it', async () => {
    const tunnel = replica.tunnel();
    tunnel.end();
    expect(await tunnel.verdict()).toEqual({ frame: 'refused', code: 'TUNNEL_RESET' });
    await tunnel.gone();
  });

  it('refuses a cluster it has no link of, and relays no further', async () => {
    const tunnel = replica.tunnel();
    tunnel.send(open('0b5a1d0e-0000-4000-8000-000000000000'));
    expect(await tunnel.verdict()).toEqual({ frame: 'refused', code: 'NO_SESSION' });
    await tunnel.gone();
  });

  it('passes on what the agent says, even when it is wrong: the opener judges', async () => {
    const parked = link.agent.park();
    const tunnel = replica.tunnel();
    tunnel.send(open(subject.clusterId));
    await parked.heard('open');
    parked.send(opened, opened);
    await tunnel.heard('opened');
    parked.send(data('x'), reset('TARGET_UNREACHABLE'));
    expect(await tunnel.verdict()).toEqual({ frame: 'reset', code: 'TARGET_UNREACHABLE' });
    expect(tunnel.frames.map((frame) => frame.case)).toEqual(['opened', 'opened', 'data', 'reset']);
    parked.end();
    tunnel.end();
    await Promise.all([parked.gone(), tunnel.gone()]);
  });

  it.each(['agent', 'replica'] as const)('cancels the other stream when the %s cancels', async (who) => {
    const parked = link.agent.park();
    const tunnel = replica.tunnel();
    tunnel.send(open(subject.clusterId));
    await parked.heard('open');
    parked.send(opened);
    await tunnel.heard('opened');
    const [from, to] = who === 'agent' ? [parked, tunnel] : [tunnel, parked];
    from.cancel(constants.NGHTTP2_CANCEL);
    await to.gone();
    expect(to.stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
    await stillWorks(subject, link);
  });
});
