import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import type { Cluster } from '../session/answers.js';
import { SOME_CLUSTER } from '../testing/some-cluster.js';
import type { Finding } from './finding.js';
import { probeDoor } from './probe-door.js';

const running: Server[] = [];
afterEach(() => {
  for (const server of running.splice(0)) server.close();
});

/** What is found at a door that refuses everything with this code. */
async function refusedWith(code: string, status: number, cluster: Cluster = SOME_CLUSTER): Promise<Finding> {
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
    const { remedy } = await refusedWith(code, 503, { ...SOME_CLUSTER, enrolledAt: null, generation: 0 });
    expect(remedy).toBe('no agent has enrolled yet: do what it says under enrolment, above');
  },
);

it('says how to log in where the token is not taken', async () => {
  const { remedy } = await refusedWith('UNAUTHENTICATED', 401);
  expect(remedy).toBe('fairlead login --server https://api --token-file FILE');
});
