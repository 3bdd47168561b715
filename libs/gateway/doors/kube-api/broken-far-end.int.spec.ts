import { once } from 'node:events';
import { request } from 'node:https';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { AccessEntry, ClusterEntry } from '@fairlead/contracts';
import { Registry, noTracer, silentLogger } from '@fairlead/observability';
import { eventually, testAuthority, type TestAuthority } from '@fairlead/testing';
import type { TlsIdentity } from '@fairlead/tunnel/gateway';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Directory } from '../../directory.js';
import { createGatewayMetrics } from '../../status/gateway-metrics.js';
import { noAudit } from '../../audit/audit-trail.js';
import { LiveConnections } from '../../passage/live-connections.js';
import { createKubeApiDoor } from './door.js';
import { TunnelPool, type TunnelPools } from './tunnel-pools.js';

const principal = {
  tenantId: 't',
  user: 'admin',
  groups: ['g'],
  subjectGroups: [],
  kind: 'administrator',
} as unknown as AccessEntry;
const cluster: ClusterEntry = { tenantId: 't', clusterId: 'c', name: 'a', generation: 1, labels: {} };
const directory = {
  loaded: true,
  principalOf: () => principal,
  stillOf: () => principal,
  clusterById: () => cluster,
  clusterByName: () => cluster,
} as unknown as Directory;

let authority: TestAuthority;
let farEnd: Server;
let behave: (tunnel: Socket) => void;
let door: ReturnType<typeof createKubeApiDoor>;
const live = new LiveConnections();
const tunnels: Socket[] = [];

// An agent that does not keep to the protocol, in the place of one whose proxy does.
beforeAll(async () => {
  authority = await testAuthority();
  farEnd = createServer((tunnel) => {
    tunnel.on('error', () => undefined);
    tunnel.once('data', () => behave(tunnel));
  });
  farEnd.listen(0, '127.0.0.1');
  await once(farEnd, 'listening');
  const dial = async (): Promise<Socket> => {
    const tunnel = connect((farEnd.address() as AddressInfo).port, '127.0.0.1');
    tunnels.push(tunnel);
    await once(tunnel, 'connect');
    return tunnel;
  };
  const { privateKeyPem, chain } = await authority.serving(['127.0.0.1']);
  const current = { keyPem: privateKeyPem, chainPem: chain, rootsPem: [] } as unknown as TlsIdentity;
  door = createKubeApiDoor({
    certificate: { current, onChange: (listener) => listener(current) },
    directory,
    ingress: 'gateway-a',
    pool: { poolFor: () => new TunnelPool(dial) } as unknown as TunnelPools,
    events: {
      agentConnected: () => undefined,
      agentDisconnected: () => undefined,
      accessRefused: () => undefined,
      stream: () => undefined,
      administratorUsed: () => undefined,
    },
    metrics: createGatewayMetrics(new Registry()),
    logger: silentLogger,
    tracer: noTracer,
    audit: noAudit,
    live,
  });
  door.listen(0, '127.0.0.1');
  await once(door, 'listening');
});

afterAll(() => {
  door?.close();
  farEnd?.close();
  for (const tunnel of tunnels) tunnel.destroy();
});

async function ask(method: string): Promise<{ status: number | undefined; body: string }> {
  const { port } = door.address() as AddressInfo;
  const path = '/clusters/a/api/v1/pods?watch=true';
  const headers = { authorization: 'Bearer x' };
  const outgoing = request({ host: '127.0.0.1', port, path, method, headers, ca: [...authority.roots], agent: false });
  outgoing.end(method === 'POST' ? '{}' : undefined);
  const [answer] = (await once(outgoing, 'response')) as [NodeJS.ReadableStream & { statusCode?: number }];
  return { status: answer.statusCode, body: await text(answer) };
}

it.each([
  ['switches protocols though it was not asked to', 'HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'],
  [
    'says that it did, and goes on in another protocol',
    `HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n\0x`,
  ],
  ['answers in no protocol', '\0\0\0\0'],
])('a far end that %s is a 502, and neither place nor tunnel is left', async (_, answer) => {
  behave = (tunnel) => void tunnel.write(answer);
  for (const method of ['GET', 'POST']) {
    expect(await ask(method)).toMatchObject({ status: 502, body: expect.stringContaining('TUNNEL_RESET') as string });
  }
  await eventually(() => expect([live.size, tunnels.filter(({ closed }) => !closed)]).toEqual([0, []]));
});
