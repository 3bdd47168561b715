import { randomUUID } from 'node:crypto';
import { startTcpTarget, type TcpTarget } from '@fairlead/tunnel/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gatewaySubject, ownSubject, type GatewaySubject } from './gateway-subject.js';
import { ScriptedAgent, type LinkedAgent } from './scripted-agent.js';
import { TunnelScript } from './tunnel-script.js';
import { MALFORMED, data, eof, open, opened, refused, reset } from './wire.js';

const GRPC_UNIMPLEMENTED = 12;
const GRPC_UNAUTHENTICATED = 16;

let subject: GatewaySubject;
let link: LinkedAgent;
let target: TcpTarget;

beforeAll(async () => {
  target = await startTcpTarget();
  subject = await gatewaySubject();
  link = await ScriptedAgent.linked(subject);
});

afterAll(async () => {
  await link?.[Symbol.asyncDispose]();
  await subject?.[Symbol.asyncDispose]();
  await target?.[Symbol.asyncDispose]();
});

const call = (): TunnelScript => new TunnelScript(link.agent.call('Egress'));

const tcp = (host: string, port: number) => ({ case: 'tcp', value: { host, port } }) as const;
const outOf = (clusterId: string): Buffer => open(clusterId, { target: tcp('127.0.0.1', target.port) });

async function flowing(): Promise<TunnelScript> {
  const tunnel = call();
  tunnel.send(outOf(subject.clusterId));
  await tunnel.heard('opened');
  return tunnel;
}

describe('the gateway, acceptor of a connection out of a cluster', () => {
  it('answers Opened once the target is there, and carries both directions to their own ends', async () => {
    const tunnel = await flowing();
    tunnel.send(data('hello'), eof);
    await tunnel.heard('eof');
    expect(tunnel.bytes.toString()).toBe('hello');
    tunnel.end();
    await tunnel.gone();
  });

  it.each([
    ['another cluster than its certificate’s', () => outOf(randomUUID()), 'WRONG_CLUSTER'],
    ['the kube-apiserver', () => open(subject.clusterId), 'INVALID_ARGUMENT'],
    ['no target', () => open(subject.clusterId, { target: { case: undefined } }), 'INVALID_ARGUMENT'],
    ['what is no host', () => open(subject.clusterId, { target: tcp('0x7f.1', 80) }), 'INVALID_ARGUMENT'],
    ['port 0', () => open(subject.clusterId, { target: tcp('127.0.0.1', 0) }), 'INVALID_ARGUMENT'],
    ['what no rule allows', () => open(subject.clusterId, { target: tcp('127.0.0.2', 8_080) }), 'TARGET_REFUSED'],
    ['a metadata service', () => open(subject.clusterId, { target: tcp('169.254.169.254', 8_080) }), 'TARGET_REFUSED'],
    [
      'a name, by a rule for a block',
      () => open(subject.clusterId, { target: tcp('localhost', 80) }),
      'TARGET_REFUSED',
    ],
    [
      'a name that is listed and leads to loopback',
      () => open(subject.clusterId, { target: tcp('localhost', 8_080) }),
      'TARGET_UNREACHABLE',
    ],
    [
      'what nobody listens at',
      () => open(subject.clusterId, { target: tcp('127.0.0.1', 1_024) }),
      'TARGET_UNREACHABLE',
    ],
  ])('refuses an Open for %s', async (_, frame, code) => {
    const tunnel = call();
    tunnel.send(frame());
    expect(await tunnel.verdict()).toEqual({ frame: 'refused', code });
    tunnel.end();
    await tunnel.gone();
  });

  it.each([
    ['data before Open', () => [data('x')]],
    ['data with the Open, before Opened', () => [outOf(subject.clusterId), data('x')]],
    ['Opened by the opener', () => [outOf(subject.clusterId), opened]],
    ['Refused by the opener', () => [outOf(subject.clusterId), refused('TARGET_REFUSED')]],
    ['Open twice', () => [outOf(subject.clusterId), outOf(subject.clusterId)]],
    ...Object.entries(MALFORMED).map(([name, bytes]) => [name, () => [bytes]] as const),
  ] as const)('%s: PROTOCOL_ERROR, and nothing else breaks', async (_, frames) => {
    const tunnel = call();
    tunnel.send(...frames());
    expect(await tunnel.verdict()).toEqual({ frame: 'reset', code: 'PROTOCOL_ERROR' });
    tunnel.end();
    await tunnel.gone();
    const other = await flowing();
    other.send(reset('TUNNEL_RESET'));
    other.end();
    await other.gone();
  });

  it('takes none before Hello, nor from somebody without a certificate', async () => {
    for (const identity of [subject.agent, null]) {
      await using agent = await ScriptedAgent.dial(subject, identity);
      expect(await new TunnelScript(agent.call('Egress')).rejected()).toBe(GRPC_UNAUTHENTICATED);
    }
  });

  it('says in Welcome that it serves it; one without rules says so, and knows no such call', async () => {
    expect(link.control.heard[0]).toMatchObject({ case: 'welcome', value: { egress: true } });
    await using bare = await ownSubject([]);
    await using other = await ScriptedAgent.linked(bare);
    expect(other.control.heard[0]).toMatchObject({ case: 'welcome', value: { egress: false } });
    const refusedCall = new TunnelScript(other.agent.call('Egress'));
    refusedCall.send(outOf(bare.clusterId));
    expect(await refusedCall.rejected()).toBe(GRPC_UNIMPLEMENTED);
  });

  it('counts what it refuses, too: who asks for nothing that is allowed is soon refused for asking', async () => {
    const perIdentity = { connections: 128, opensPerSecond: 1, heldBytes: 64 * 1024 ** 2 };
    await using bounded = await ownSubject(['127.0.0.1:1024-65535'], { perIdentity });
    await using other = await ScriptedAgent.linked(bounded);
    const codes: unknown[] = [];
    for (let n = 0; n < 20 && codes.at(-1) !== 'RATE_LIMITED'; n += 1) {
      const tunnel = new TunnelScript(other.agent.call('Egress'));
      tunnel.send(outOf(randomUUID()));
      codes.push((await tunnel.verdict()).code);
      tunnel.end();
      await tunnel.gone();
    }
    expect([codes[0], codes.at(-1)]).toEqual(['WRONG_CLUSTER', 'RATE_LIMITED']);
  });

  it('breaks off the target when the call is cancelled', async () => {
    const tunnel = await flowing();
    expect(target.sockets.size).toBe(1);
    tunnel.cancel(8);
    await expect.poll(() => target.sockets.size).toBe(0);
  });
});
