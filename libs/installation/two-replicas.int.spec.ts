import { once } from 'node:events';
import { Agent } from 'node:https';
import { connect } from 'node:http2';
import { headerPairs } from '@fairlead/kube-http';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { callDoor, openDoor, untilAnswered } from './kube-client.js';
import { startReplicaPair, type ReplicaPair } from './linked-cluster.js';
import type { Replica } from './replicas.js';
import type { RunningAgent } from './test-agent.js';

let pair: ReplicaPair;
let agent: RunningAgent;

beforeAll(async () => {
  pair = await startReplicaPair();
  agent = await pair.installation.startAgent({ replicas: [pair.a], apiPort: pair.api.port });
  await untilAnswered(pair.installation, pair.b);
});

afterAll(() => pair?.[Symbol.asyncDispose]());

beforeEach(() => {
  pair.api.requests.length = 0;
  pair.api.handle = (_request, response) => void response.end('{}');
});

const replicas = (): [string, Replica][] => [
  ['the replica that holds the link', pair.a],
  ['the other replica', pair.b],
];

function header(name: string): string[] {
  const raw = pair.api.requests.at(-1)?.rawHeaders ?? [];
  return [...headerPairs(raw)].filter(([key]) => key.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
}

async function counter(replica: Replica, name: string, labels: Record<string, string>): Promise<number> {
  const metric = await replica.registry.getSingleMetric(name)?.get();
  const match = metric?.values.find((item) =>
    Object.entries(labels).every(([key, value]) => item.labels[key] === value),
  );
  return match?.value ?? 0;
}

describe('a request through either replica', () => {
  it('reaches the API server as the user of the token, and only as that', async () => {
    for (const [, replica] of replicas()) {
      const answer = await callDoor(pair.installation, replica, {
        path: '/clusters/demo/api/v1/namespaces?limit=5&a=%2F',
      });
      expect(answer).toMatchObject({ status: 200, body: '{}' });
      expect(pair.api.requests.at(-1)).toMatchObject({ method: 'GET', url: '/api/v1/namespaces?limit=5&a=%2F' });
      expect(header('authorization')).toEqual(['Bearer the-service-account-token']);
      expect(header('impersonate-user')).toEqual(['admin']);
      expect(header('impersonate-group')).toEqual(['fairlead:admins']);
      expect(header('x-forwarded-for')).toEqual(['127.0.0.1']);
      expect(header('audit-id')).toHaveLength(1);
    }
  });

  it('crosses the relay exactly when the replica has no link', async () => {
    const before = await counter(pair.b, 'fairlead_gateway_relayed_tunnels_total', { direction: 'out' });
    const token = await pair.installation.addToken({ user: 'relay-user', groups: [] });
    await eventually(async () => expect((await callDoor(pair.installation, pair.b, { token })).status).toBe(200));
    expect(await counter(pair.b, 'fairlead_gateway_relayed_tunnels_total', { direction: 'out' })).toBe(before + 1);
    expect(await counter(pair.a, 'fairlead_gateway_relayed_tunnels_total', { direction: 'out' })).toBe(0);
    expect(await counter(pair.a, 'fairlead_gateway_relayed_tunnels_total', { direction: 'in' })).toBeGreaterThan(0);
  });

  it('streams both ways at once, chunk by chunk', async () => {
    pair.api.handle = (request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      response.flushHeaders();
      request.on('data', (chunk: Buffer) => response.write(`echo ${chunk.toString()}`));
      request.on('end', () => response.end('bye'));
    };
    for (const [, replica] of replicas()) {
      const outgoing = openDoor(pair.installation, replica, {
        method: 'POST',
        headers: ['Transfer-Encoding', 'chunked'],
      });
      outgoing.flushHeaders();
      const [answer] = (await once(outgoing, 'response')) as [NodeJS.ReadableStream];
      outgoing.write('one');
      expect(String((await once(answer, 'data'))[0])).toBe('echo one');
      outgoing.write('two');
      expect(String((await once(answer, 'data'))[0])).toBe('echo two');
      outgoing.end();
      expect(String((await once(answer, 'data'))[0])).toBe('bye');
    }
  });

  it('moves large bodies exactly', async () => {
    const big = 'x'.repeat(8 * 1024 * 1024);
    pair.api.handle = (request, response) => {
      let received = 0;
      request.on('data', (chunk: Buffer) => (received += chunk.length));
      request.on('end', () => response.end(`${received} ${big}`));
    };
    for (const [, replica] of replicas()) {
      const answer = await callDoor(pair.installation, replica, { method: 'PUT', body: big });
      expect(answer.body.length).toBe(`${big.length} `.length + big.length);
      expect(answer.body.startsWith(`${big.length} `)).toBe(true);
    }
  });

  it('keeps repeated headers repeated, both ways, and bodies undecoded', async () => {
    pair.api.handle = (_request, response) => {
      response.writeHead(200, ['Warning', '299 - "a"', 'Warning', '299 - "b"', 'Content-Encoding', 'gzip']);
      response.end(Buffer.from([0x1f, 0x8b, 8]));
    };
    const headers = ['X-Stream-Protocol-Version', 'v4', 'X-Stream-Protocol-Version', 'v3', 'Accept-Encoding', 'gzip'];
    const answer = await callDoor(pair.installation, pair.b, { headers });
    expect(header('x-stream-protocol-version')).toEqual(['v4', 'v3']);
    expect(answer.headers['content-encoding']).toBe('gzip');
    expect(answer.headers['warning']).toBe('299 - "a", 299 - "b"');
  });

  it('speaks HTTP/2 too', async () => {
    for (const [, replica] of replicas()) {
      const session = connect(`https://127.0.0.1:${replica.gateway.door.port}`, {
        ca: [...pair.installation.authority.roots],
      });
      const stream = session.request({
        ':path': '/clusters/demo/version',
        ':method': 'POST',
        authorization: `Bearer ${pair.installation.token}`,
      });
      stream.end('{"a":1}');
      const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
      expect(headers[':status']).toBe(200);
      stream.resume();
      await once(stream, 'close');
      session.close();
      expect(header('impersonate-user')).toEqual(['admin']);
      expect(header('transfer-encoding')).toEqual(['chunked']);
    }
  });

  it('tells the API server when the client goes away', async () => {
    const gone = new Promise<void>((resolve) => {
      pair.api.handle = (_request, response) => {
        response.writeHead(200).flushHeaders();
        response.once('close', () => resolve());
      };
    });
    const outgoing = openDoor(pair.installation, pair.b, { path: '/clusters/demo/api/v1/pods?watch=1' });
    outgoing.on('error', () => undefined);
    outgoing.end();
    await once(outgoing, 'response');
    outgoing.destroy();
    await expect(gone).resolves.toBeUndefined();
  });

  it('never ends an answer cleanly that broke off', async () => {
    pair.api.handle = (_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('partial');
      setImmediate(() => response.socket?.destroy());
    };
    for (const [, replica] of replicas())
      await expect(callDoor(pair.installation, replica)).rejects.toThrow(/aborted|hang up|ECONNRESET/);
  });
});

describe('header tricks of a client', () => {
  it('loses every header that could name an identity, whatever its spelling', async () => {
    const headers = [
      'Connection',
      'Impersonate-User, Impersonate-Group, Authorization',
      'Cookie',
      'a=b',
      'x-REMOTE-user',
      'root',
      'X-Remote-Extra-Scopes',
      'all',
      'X-Forwarded-For',
      '6.6.6.6',
      'Forwarded',
      'for=6.6.6.6',
      'Audit-ID',
      'forged',
      'Sec-WebSocket-Protocol',
      'base64url.bearer.authorization.k8s.io.c2VjcmV0, v5.channel.k8s.io',
      'Proxy-Authorization',
      'Basic x',
    ];
    for (const [, replica] of replicas()) {
      expect((await callDoor(pair.installation, replica, { headers })).status).toBe(200);
      expect(header('impersonate-user')).toEqual(['admin']);
      expect(header('impersonate-group')).toEqual(['fairlead:admins']);
      expect(header('authorization')).toEqual(['Bearer the-service-account-token']);
      expect(header('x-forwarded-for')).toEqual(['127.0.0.1']);
      expect(header('sec-websocket-protocol')).toEqual(['v5.channel.k8s.io']);
      for (const name of ['cookie', 'x-remote-user', 'x-remote-extra-scopes', 'forwarded', 'proxy-authorization']) {
        expect(header(name)).toEqual([]);
      }
      expect(header('audit-id')).not.toContain('forged');
    }
  });

  it.each(['Impersonate-User', 'impersonate-uid', 'IMPERSONATE-EXTRA-x', 'Impersonate-Group'])(
    'is refused with 403 when it asks to act as somebody else (%s)',
    async (name) => {
      const answer = await callDoor(pair.installation, pair.b, { headers: [name, 'system:admin'] });
      expect(answer.status).toBe(403);
      expect(JSON.parse(answer.body)).toMatchObject({ kind: 'Status', reason: 'Forbidden' });
      expect(pair.api.requests).toHaveLength(0);
    },
  );

  it.each(['/clusters/demo/api/../../x', '/clusters/demo/%2e%2e/x', '/clusters/demo/api%2fv1', '/clusters/demo/a%5Cb'])(
    'is refused with 400 for the path %s',
    async (path) => {
      const answer = await callDoor(pair.installation, pair.a, { path });
      expect(answer.status).toBe(400);
      expect(pair.api.requests).toHaveLength(0);
    },
  );
});

describe('identities', () => {
  it('never mix on kept-alive connections: each request runs as its own user', async () => {
    const [alice, bob] = await Promise.all([
      pair.installation.addToken({ user: 'alice', groups: ['team-a'] }),
      pair.installation.addToken({ user: 'bob', groups: ['team-b'] }),
    ]);
    for (const [, replica] of replicas()) {
      const keepAlive = new Agent({ keepAlive: true, maxSockets: 1 });
      await eventually(async () => {
        for (const token of [alice, bob])
          expect((await callDoor(pair.installation, replica, { token })).status).toBe(200);
      });
      for (const [token, user, group] of [
        [alice, 'alice', 'team-a'],
        [bob, 'bob', 'team-b'],
        [alice, 'alice', 'team-a'],
      ] as const) {
        await callDoor(pair.installation, replica, { token, agent: keepAlive });
        expect(header('impersonate-user')).toEqual([user]);
        expect(header('impersonate-group')).toEqual([group]);
      }
      keepAlive.destroy();
    }
  });

  it('of the system: family are refused by the agent', async () => {
    const token = await pair.installation.addToken({ user: 'mallory', groups: ['System:masters'] });
    await eventually(async () => {
      const answer = await callDoor(pair.installation, pair.b, { token });
      expect(answer.status).toBe(403);
      expect(answer.body).toContain('IDENTITY_REFUSED');
    });
    expect(pair.api.requests).toHaveLength(0);
  });

  it('are required: no token, a wrong one and two at once are 401, with an event', async () => {
    for (const call of [{ token: null }, { token: 'wrong' }, { headers: ['Authorization', 'Bearer second'] }]) {
      const answer = await callDoor(pair.installation, pair.a, call);
      expect(answer.status).toBe(401);
      expect(answer.headers['www-authenticate']).toContain('fairlead');
      expect(JSON.parse(answer.body)).toMatchObject({ kind: 'Status', reason: 'Unauthorized', code: 401 });
    }
    expect(pair.a.refusals.at(-1)).toMatchObject({ code: 'UNAUTHENTICATED', door: 'kube-api', cluster: 'demo' });
  });
});

describe('clusters', () => {
  it('that are unknown are 404', async () => {
    const answer = await callDoor(pair.installation, pair.a, { path: '/clusters/nowhere/api' });
    expect(answer.status).toBe(404);
    expect(JSON.parse(answer.body)).toMatchObject({ kind: 'Status', reason: 'NotFound' });
    expect(pair.a.refusals.at(-1)).toMatchObject({ code: 'NOT_FOUND', cluster: 'nowhere' });
  });

  it('that never had an agent are 503, at once: there is nothing to wait for', async () => {
    await pair.installation.addCluster('lonely');
    await eventually(async () => {
      const answer = await callDoor(pair.installation, pair.a, {
        method: 'POST',
        body: '{}',
        path: '/clusters/lonely/api',
      });
      expect(answer.status).toBe(503);
      expect(answer.headers['retry-after']).toBeUndefined();
      expect(answer.body).toContain('AGENT_OFFLINE');
    });
  });

  it('whose agent went a moment ago are 503 with Retry-After, because nothing was delivered', async () => {
    const cluster = await pair.installation.addCluster('restarting');
    const gone = await pair.installation.startAgent({ replicas: [pair.a], apiPort: pair.api.port, cluster });
    const path = '/clusters/restarting/api';
    // Nobody tells a replica of a link that is over before it looked.
    await eventually(async () => expect((await callDoor(pair.installation, pair.b, { path })).status).toBe(200));
    await gone.stop();
    await eventually(async () => {
      const answer = await callDoor(pair.installation, pair.b, { method: 'POST', body: '{}', path });
      expect(answer.status).toBe(503);
      expect(answer.headers['retry-after']).toBe('1');
      expect(answer.body).toContain('AGENT_RECONNECTING');
    });
  });

  it('that are deleted lose the links that stand', async () => {
    const cluster = await pair.installation.addCluster('deleted');
    const orphan = await pair.installation.startAgent({ replicas: [pair.a], apiPort: pair.api.port, cluster });
    await pair.installation.removeCluster(cluster);
    await eventually(() => {
      const { sessions } = pair.a.gateway.debugView() as { sessions: { clusterId: string }[] };
      expect(sessions.map(({ clusterId }) => clusterId)).not.toContain(cluster.clusterId);
    });
    await orphan.stop();
  });

  it('whose API server is away are 502 without Retry-After', async () => {
    const cluster = await pair.installation.addCluster('headless');
    const headless = await pair.installation.startAgent({ replicas: [pair.a], apiPort: 1, cluster });
    // The other replica learns of the link a moment after it stands.
    await eventually(async () => {
      const answer = await callDoor(pair.installation, pair.b, { path: '/clusters/headless/api' });
      expect(answer.status).toBe(502);
      expect(answer.headers['retry-after']).toBeUndefined();
      expect(answer.body).toContain('TARGET_UNREACHABLE');
    });
    await headless.stop();
  });

  it('are what a certificate says: cluster A’s certificate is no good for B', async () => {
    const other = await pair.installation.addCluster('other');
    const impostor = await pair.installation.startAgent({
      replicas: [pair.a],
      apiPort: pair.api.port,
      cluster: other,
      certificateOf: pair.installation.cluster,
      expectRefusal: true,
    });
    await eventually(() => {
      const refusal = pair.a.refusals.at(-1);
      if (refusal?.code !== 'WRONG_CLUSTER') throw new Error(JSON.stringify(refusal));
    });
    expect(pair.a.refusals.at(-1)).toMatchObject({ door: 'link', clusterId: pair.installation.cluster.clusterId });
    await impostor.stop();
    await eventually(async () => expect((await callDoor(pair.installation, pair.a)).status).toBe(200));
  });

  it('of an enrolment that was replaced are refused', async () => {
    const cluster = await pair.installation.addCluster('replaced', 2);
    const old = await pair.installation.startAgent({
      replicas: [pair.a],
      apiPort: pair.api.port,
      cluster: { ...cluster, generation: 1 },
      expectRefusal: true,
    });
    await eventually(() => expect(pair.a.refusals.at(-1)).toMatchObject({ code: 'CERTIFICATE_REFUSED', door: 'link' }));
    await old.stop();
  });
});

describe('when the link goes away', () => {
  it('answers come back by themselves once the agent is back, through both replicas', async () => {
    await agent.stop();
    await eventually(async () => expect((await callDoor(pair.installation, pair.b)).status).toBe(503));
    agent = await pair.installation.startAgent({ replicas: [pair.a, pair.b], links: 2, apiPort: pair.api.port });
    for (const [, replica] of replicas()) {
      await eventually(async () => expect((await callDoor(pair.installation, replica)).status).toBe(200));
    }
  });
});
