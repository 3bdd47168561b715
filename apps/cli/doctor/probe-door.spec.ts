import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import type { Cluster } from '../session/answers.js';
import type { Finding } from './finding.js';
import { probeDoor } from './probe-door.js';

const running: Server[] = [];
afterEach(() => {
  for (const server of running.splice(0)) server.close();
});

const demo: Cluster = {
  id: 'x',
  name: 'demo',
  labels: {},
  links: 2,
  targets: [],
  egress: [],
  gitops: false,
  manifestValues: {},
  createdAt: '2026-11-10T12:00:00.000Z',
  enrolledAt: '2026-11-10T13:00:00.000Z',
  generation: 1,
  facts: null,
  presence: {
    state: 'offline',
    replicas: [],
    liveReplicas: 2,
    since: null,
    agents: [],
    duplicate: null,
    lastError: null,
  },
};

/** What is found at a door that refuses everything with this code. */
async function refusedWith(code: string, status: number, cluster: Cluster = demo): Promise<Finding> {
  const causes = [{ reason: 'FairleadCode', message: code }];
  const body = JSON.stringify({ kind: 'Status', message: 'it is refused', details: { causes } });
  const server = createServer((_request, response) => void response.writeHead(status).end(body));
  running.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  const door = { name: 'gateway-a', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const asking = { token: 'x', logInAgain: 'fairlead login --server https://api --token-file FILE' };
  return probeDoor(cluster, door, asking, () => performance.now());
}

it.each(['AGENT_OFFLINE', 'AGENT_RECONNECTING', 'NO_SESSION'])(
  '%s names what is printed of the cluster',
  async (code) => {
    const offline = await refusedWith(code, 503);
    expect(offline).toMatchObject({ ok: false, remedy: expect.stringMatching(/^see presence, above; /) as string });
    // Of this one there is no word about presence.
    const { remedy } = await refusedWith(code, 503, { ...demo, enrolledAt: null, generation: 0 });
    expect(remedy).toBe('no agent has enrolled yet: do what it says under enrolment, above');
  },
);

it('says how to log in where the token is not taken', async () => {
  const { remedy } = await refusedWith('UNAUTHENTICATED', 401);
  expect(remedy).toBe('fairlead login --server https://api --token-file FILE');
});
