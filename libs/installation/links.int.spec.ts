import { connect, constants } from 'node:http2';
import { connect as tlsConnect } from 'node:tls';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '@fairlead/testing';
import { encodeControl } from '@fairlead/tunnel/core';
import { TUNNEL_PATH } from '@fairlead/tunnel/link';
import { OPEN, startBalancer } from '@fairlead/tunnel/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { callDoor, untilAnswered } from './kube-client.js';
import { startReplicaPair, type ReplicaPair } from './linked-cluster.js';
import type { Replica } from './replicas.js';
import type { RunningAgent } from './test-agent.js';

let pair: ReplicaPair;
let agent: RunningAgent | undefined;

beforeAll(async () => {
  pair = await startReplicaPair();
});

afterEach(() => agent?.stop());

afterAll(() => pair?.[Symbol.asyncDispose]());

const answers = (replica: Replica): Promise<void> => untilAnswered(pair.installation, replica);

const sessionsOf = (replica: Replica): { sessionId: string }[] =>
  (replica.gateway.debugView() as { sessions: { sessionId: string }[] }).sessions;

describe('two links through one load balancer', () => {
  it('reach two replicas', async () => {
    await using balancer = await startBalancer([
      pair.a.gateway.link.port,
      pair.a.gateway.link.port,
      pair.b.gateway.link.port,
    ]);
    const endpoints = [`127.0.0.1:${balancer.port}`];
    agent = await pair.installation.startAgent({
      replicas: [pair.a, pair.b],
      endpoints,
      links: 2,
      apiPort: pair.api.port,
    });
    expect([sessionsOf(pair.a).length, sessionsOf(pair.b).length]).toEqual([1, 1]);
  });

  it('that always reach the same replica are degraded, say so, leave the one that stands alone, and dial anew once there is another replica', async () => {
    const ports = [pair.a.gateway.link.port];
    await using balancer = await startBalancer(ports);
    const endpoints = [`127.0.0.1:${balancer.port}`];
    agent = await pair.installation.startAgent({ replicas: [pair.a], endpoints, links: 1, apiPort: pair.api.port });
    await agent.stop();
    const expectRefusal = true;
    await eventually(() => expect(sessionsOf(pair.a)).toEqual([]));
    const startedAt = new Date().toISOString();
    agent = await pair.installation.startAgent({
      replicas: [pair.a],
      endpoints,
      links: 2,
      apiPort: pair.api.port,
      expectRefusal,
    });
    const running = agent;
    await eventually(() => expect(sessionsOf(pair.a)).toHaveLength(1));
    const first = sessionsOf(pair.a)[0]?.sessionId;
    await answers(pair.a);
    let degraded = false;
    // Five pauses with full jitter: at most half a minute, and the dials.
    const until = performance.now() + 90_000;
    while (!degraded && performance.now() < until) {
      expect((await callDoor(pair.installation, pair.a)).status).toBe(200);
      degraded = running.agent.readiness()[0]?.detail?.includes('degraded') ?? false;
      await delay(50);
    }
    expect(degraded).toBe(true);
    expect(running.agent.readiness()[0]).toMatchObject({ ok: true });
    await eventually(() => expect(sessionsOf(pair.a).map(({ sessionId }) => sessionId)).toEqual([first]));
    const dials = balancer.connections();
    await delay(2_000);
    expect(balancer.connections()).toBe(dials);
    // Another pod of the same Deployment. Had nobody told the agent, its next dial would be half a minute away at least.
    const third = await pair.installation.startReplica('gateway-b');
    ports.push(third.gateway.link.port);
    await eventually(() => expect(sessionsOf(third)).toHaveLength(1), { timeoutMs: 25_000 });
    // The gateway has the session a moment before the agent has its Welcome.
    await eventually(() => expect(running.agent.readiness()[0]).toMatchObject({ ok: true, detail: '2 of 2 links' }));
    // Links that it did not need were closed by itself, and nothing was wrong with them.
    expect(pair.a.problems.filter(({ at }) => at > startedAt)).toEqual([]);
    await third.stop();
  }, 180_000);
});

describe('a certificate near its end', () => {
  it('is renewed at two thirds of its life, with a new key, and no link is touched', async () => {
    const notAfter = new Date(Date.now() + 15_000);
    agent = await pair.installation.startAgent({ replicas: [pair.a], apiPort: pair.api.port, notAfter });
    const [before] = sessionsOf(pair.a);
    const identity = agent.stored['identity'] as string;
    const running = agent;
    await eventually(() => expect(running.stored['identity']).not.toBe(identity), { timeoutMs: 30_000 });
    const key = (text: string | undefined): string => (JSON.parse(text ?? '{}') as { keyPem: string }).keyPem;
    expect(key(running.stored['identity'])).not.toBe(key(identity));
    await delay(500);
    expect(sessionsOf(pair.a)).toMatchObject([{ sessionId: before?.sessionId }]);
    expect((await callDoor(pair.installation, pair.a)).status).toBe(200);
  });
});

describe('a hostile agent', () => {
  it('that cancels its calls at any moment harms neither the replica nor others', async () => {
    agent = await pair.installation.startAgent({ replicas: [pair.a], apiPort: pair.api.port });
    const { privateKeyPem, chainPem } = await pair.installation.authority.agent(pair.installation.cluster.clusterId);
    const session = connect(`https://127.0.0.1:${pair.a.gateway.link.port}`, {
      createConnection: () =>
        tlsConnect({
          port: pair.a.gateway.link.port,
          host: '127.0.0.1',
          key: privateKeyPem,
          cert: chainPem,
          rejectUnauthorized: false,
          ALPNProtocols: ['h2'],
        }),
    });
    session.on('error', () => undefined);
    const paths = [TUNNEL_PATH, '/fairlead.link.v1.AgentLinkService/Control', '/nowhere'];
    for (let i = 0; i < 300; i += 1) {
      const stream = session.request(
        {
          ':method': 'POST',
          ':path': paths[i % paths.length],
          'content-type': 'application/grpc+proto',
          te: 'trailers',
        },
        { endStream: false },
      );
      stream.on('error', () => undefined);
      if (i % 2 === 0) stream.write(encodeControl({ case: 'open', value: OPEN }));
      if (i % 5 === 0) await delay(1);
      stream.close(constants.NGHTTP2_CANCEL);
    }
    session.destroy();
    await answers(pair.a);
    expect(sessionsOf(pair.a)).toHaveLength(1);
  });

  it('without a certificate makes a replica hold no more than a small window, however much it sends', async () => {
    const session = connect(`https://127.0.0.1:${pair.a.gateway.link.port}`, { rejectUnauthorized: false });
    await new Promise((resolve) => session.once('remoteSettings', resolve));
    expect(session.state.remoteWindowSize).toBeLessThanOrEqual(65_535);
    session.destroy();
  });
});

describe('a replica that drains', () => {
  it('is left before it is gone: what runs is finished, and what comes next goes the other way', async () => {
    const endpoints = [pair.a, pair.b].map(({ gateway }) => gateway.link.address);
    agent = await pair.installation.startAgent({ replicas: [pair.a, pair.b], endpoints, apiPort: pair.api.port });
    const [holder, other] = sessionsOf(pair.a).length === 1 ? [pair.a, pair.b] : [pair.b, pair.a];
    await answers(other);
    // Slow enough to be under way when the replica is told to stop, and far from the end of its drain.
    pair.api.handle = (request, response) => {
      response.writeHead(200).flushHeaders();
      setTimeout(() => response.end('whole'), request.url === '/slow' ? 500 : 0);
    };
    const slow = callDoor(pair.installation, other, { path: '/clusters/demo/slow' });
    await eventually(() => expect(pair.api.requests.at(-1)?.url).toBe('/slow'));
    const stopped = holder.stop();
    await answers(other);
    await eventually(() => expect(sessionsOf(other)).toHaveLength(1));
    expect(await slow).toMatchObject({ status: 200, body: 'whole' });
    await stopped;
    await answers(other);
  });
});
