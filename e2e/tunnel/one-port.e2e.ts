import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { connect as connectTcp, createServer, type AddressInfo, type Server } from 'node:net';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { planPorts } from '@fairlead/stack';
import { freePort, type KubeInfo } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectThrough, createDoorClient, type DoorClient } from '../support/connect-door.js';
import { readEvents } from '../support/events.js';
import { fairlead } from '../support/fairlead.js';
import { startForwarder } from '../support/forwarder.js';
import { startOnePort, type OnePort } from '../support/haproxy.js';
import { sha256 } from '../support/kubectl-streams.js';
import { invite, startLooseAgent } from '../support/loose-agent.js';
import { STREAM_PROTOCOLS, joinNode, runPods, streamingKubectls } from '../support/pod-streams.js';
import { startTcpAgent, type TcpAgent } from '../support/tcp-agent.js';
import {
  counterOf,
  kubectl,
  scratchStateDir,
  startTestStack,
  whoHoldsTheLink,
  type TestStack,
} from '../support/test-stack.js';

/** The balancer's, towards gateways; a client's address, if none is chosen, is 127.0.0.1. */
const BALANCER = '127.0.0.50';
const [API_NAME, CONNECT_NAME] = ['localhost', 'connect.fairlead.test'];
const RELAYED = 'fairlead_gateway_relayed_tunnels_total';

let onePort: OnePort;
let running: TestStack;
let ca: string;
let target: Server;

beforeAll(async () => {
  const stateDir = await scratchStateDir();
  const ports = await planPorts(0, 2, join(stateDir, 'ports.json'));
  const port = await freePort();
  target = createServer({ allowHalfOpen: true }, (socket) => socket.on('error', () => undefined).pipe(socket));
  await once(target.listen(0, '127.0.0.1'), 'listening');
  onePort = await startOnePort({ port, address: BALANCER, apiName: API_NAME, connectName: CONNECT_NAME, ports });
  const here = `127.0.0.1:${port}`;
  const names = { FAIRLEAD_GATEWAY_SERVING_NAMES: `127.0.0.1,localhost,${CONNECT_NAME},*.fairlead.localhost` };
  const balancers = { FAIRLEAD_PROXY_PROTOCOL_FROM: BALANCER };
  const gateway = { FAIRLEAD_LINK_ENDPOINTS: here, FAIRLEAD_RELAY_ADDRESS: here, ...names, ...balancers };
  running = await startTestStack({
    stateDir,
    env: {
      gateway,
      keys: names,
      registration: { FAIRLEAD_LINK_ENDPOINTS: here },
      api: {
        ...balancers,
        FAIRLEAD_PUBLIC_URL: `https://${API_NAME}:${port}`,
        FAIRLEAD_DOORS: `one-port=https://${here}`,
        FAIRLEAD_CONNECT_DOORS: `one-port=https://${CONNECT_NAME}:${port}`,
      },
    },
  });
  ca = await readFile(running.stack.api.caFile, 'utf8');
});

afterAll(async () => {
  await using ending = new AsyncDisposableStack();
  // Whatever the end of the first says, the others end too.
  ending.defer(() => void target?.close());
  ending.use(onePort);
  ending.use(running);
});

const addressOfTarget = (): string => `127.0.0.1:${(target.address() as AddressInfo).port}`;
const logOf = (name: string): Promise<string> => readFile(running.stack.process(name).logPath, 'utf8');
const gatewayLogs = async (): Promise<string> =>
  (await Promise.all(running.stack.gateways.map(({ name }) => logOf(name)))).join('\n');

const eventuallyLogged = (part: string | RegExp): Promise<void> =>
  eventually(async () => expect(await gatewayLogs()).toMatch(part));

function kubeOfDemo(): KubeInfo {
  const { demo } = running.stack;
  if ('unavailable' in demo) throw new Error(demo.unavailable);
  return demo.kubeInfo;
}

/** The status of one request with this token, from this address. */
async function statusOf(localAddress: string, path: string, token: string, servername?: string): Promise<number> {
  const named = servername === undefined ? {} : { servername };
  const headers = { authorization: `Bearer ${token}` };
  const at = { host: '127.0.0.1', port: onePort.port, path, headers, ca, localAddress, agent: false, ...named };
  const asking = request({ ...at, signal: AbortSignal.timeout(15_000) }).end();
  const [answer] = (await once(asking, 'response')) as [import('node:http').IncomingMessage];
  await text(answer);
  return answer.statusCode ?? 0;
}

describe('through one port', () => {
  it('kubectl works, over the relay too', async () => {
    const { holder, other } = await whoHoldsTheLink(running.stack);
    const relayed = (): Promise<number> => counterOf(running.stack, other, RELAYED, 'direction="out"');
    const before = await relayed();
    await eventually(async () => {
      expect(await kubectl(running.stack, 'one-port', ['get', 'namespaces', '-o', 'name'])).toContain(
        'namespace/default',
      );
      expect(await relayed()).toBeGreaterThan(before);
    });
    const dialled = (await logOf(other)).split('\n').filter((line) => line.includes('"relay.connected"'));
    const [{ replica, address }] = dialled.map((line) => JSON.parse(line) as { replica: string; address: string }) as [
      { replica: string; address: string },
    ];
    expect({ replica, address }).toEqual({ replica: holder, address: `127.0.0.1:${onePort.port}` });
  });

  it('an agent enrols by an import link of it, and a program reaches what the agent may', async () => {
    await using agent: TcpAgent = await startTcpAgent(running.stack, {
      cluster: 'behind',
      links: 2,
      targets: [addressOfTarget()],
    });
    await using client: DoorClient = await createDoorClient(running.stack, 'prometheus', [agent.cluster]);
    const door = `https://127.0.0.1:${onePort.port}`;
    const how = { servername: CONNECT_NAME, localAddress: '127.0.0.31' };
    const connected = await eventually(async () => {
      const answered = await connectThrough(door, client, addressOfTarget(), undefined, how);
      if (answered.status === 200) return answered;
      answered.socket.destroy();
      throw new Error(`answered ${answered.status}`);
    });
    const sent = randomBytes(1_000_000);
    connected.socket.end(sent);
    expect((await buffer(connected.socket)).equals(sent)).toBe(true);
    await eventuallyLogged(/"connect\.closed".*"address":"127\.0\.0\.31"|"address":"127\.0\.0\.31".*"connect\.closed"/);
  });

  it.each(STREAM_PROTOCOLS)('kubectl exec works with %s: input to its end, and the exit code', async (protocol) => {
    const kubectls = await streamingKubectls(running.stack.kubeconfigPath, ['--context', 'demo@one-port']);
    await using _node = await joinNode(kubeOfDemo(), running.stack.stateDir, 'node-1');
    await runPods(kubectls[protocol], {
      name: `shell-${protocol}`.toLowerCase(),
      image: 'shell:1',
      args: ['sleep 1000'],
    });
    const sent = randomBytes(1_000_000);
    const command = ['sh', '-c', 'sha256sum; exit 7'];
    const { code, stdout } = await kubectls[protocol](
      ['exec', '-i', `shell-${protocol}`.toLowerCase(), '--', ...command],
      sent,
    );
    expect({ code, stdout: stdout.toString() }).toEqual({ code: 7, stdout: `${sha256(sent)}  -\n` });
  });

  it.each([
    ['agents of before, which send no name', { ALPNProtocols: ['h2'] }, /spiffe:\/\/fairlead\.local\/gateway\//],
    ['agents', { ALPNProtocols: ['h2'], servername: 'link.fairlead.invalid' }, /spiffe:\/\/fairlead\.local\/gateway\//],
    ['kubectl by an address', { ALPNProtocols: ['h2', 'http/1.1'] }, /DNS:connect\.fairlead\.test/],
    ['kubectl by a cluster’s name', { servername: 'demo.fairlead.localhost' }, /DNS:connect\.fairlead\.test/],
  ] satisfies [string, ConnectionOptions, RegExp][])('%s come to their port', async (_who, how, expected) => {
    const socket = connectTls({ host: '127.0.0.1', port: onePort.port, rejectUnauthorized: false, ...how });
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(15_000) });
    expect(socket.getPeerX509Certificate()?.subjectAltName).toMatch(expected);
    socket.destroy();
  });
});

describe('the addresses', () => {
  it('in the gateways’ events and logs are the clients’', async () => {
    expect(await statusOf('127.0.0.21', '/clusters/demo/api', 'fl_wrong')).toBe(401);
    await eventually(async () => {
      const refused = (await readEvents(running.stack)).filter(({ data }) =>
        JSON.stringify(data).includes('127.0.0.21'),
      );
      expect(refused).not.toHaveLength(0);
    });
    await eventuallyLogged(
      /"event":"agent\.connected".*"address":"127\.0\.0\.1"|"address":"127\.0\.0\.1".*"agent\.connected"/,
    );
  });

  it('tell an agent from a copy of it, which dials from elsewhere', async () => {
    const invitation = await invite(running.stack, 'copied');
    await using agent = await startLooseAgent(running.stack, { invitation });
    await agent.event('link.established');
    const dial = { host: '127.0.0.1', port: onePort.port, localAddress: '127.0.0.33' };
    await using elsewhere = await startForwarder(() => connectTcp(dial));
    const copied = { invitation: { ...invitation, endpoints: elsewhere.host }, identity: await agent.identity() };
    await using copy = await startLooseAgent(running.stack, copied);
    await copy.event('link.established');
    await eventually(async () => {
      const shown = await fairlead(running.stack, 'cluster', 'show', 'copied', '-o', 'json');
      const { presence } = JSON.parse(shown) as { presence: { agents: { addresses: string[] }[] } };
      expect(presence.agents.map(({ addresses }) => addresses)).toEqual([['127.0.0.1'], ['127.0.0.33']]);
    });
  });

  it('are what the admin API limits guessers by', async () => {
    const guess = (from: string): Promise<number> => statusOf(from, '/v1/whoami', 'fl_wrong', API_NAME);
    await eventually(async () => expect(await guess('127.0.0.22')).toBe(429));
    expect(await guess('127.0.0.23')).toBe(401);
    expect(await logOf('api')).toContain('"remoteAddress":"127.0.0.22"');
  });

  it('of the balancer stand nowhere', async () => {
    const events = JSON.stringify(await readEvents(running.stack));
    for (const said of [await gatewayLogs(), await logOf('api'), events]) {
      const own = said.split('\n').filter((line) => !/proxy_protocol\.refused|process\.starting/.test(line));
      expect(own.filter((line) => line.includes(BALANCER))).toEqual([]);
    }
  });
});

describe('who says of itself that it comes for another', () => {
  const SIGNATURE = '0d0a0d0a000d0a515549540a';
  /** For 203.0.113.9. */
  const FORGED = Buffer.from(`${SIGNATURE}2111000ccb0071097f0000019c4001bb`, 'hex');
  const HELLO = Buffer.from('1603010200', 'hex');

  const portsOf = (): number[] => {
    const [{ doorUrl, connectUrl, linkAddress, relayAddress }] = running.stack.gateways as [
      (typeof running.stack.gateways)[number],
    ];
    const urls = [doorUrl, connectUrl, `https://${linkAddress}`, `https://${relayAddress}`, running.stack.api.url];
    return urls.map((url) => Number(new URL(url).port));
  };

  /** Everything that is answered until the connection is closed. */
  async function answerTo(port: number, localAddress: string, said: Buffer): Promise<string> {
    const socket = connectTcp({ host: '127.0.0.1', port, localAddress });
    socket.on('error', () => undefined);
    socket.write(said);
    const pieces: Buffer[] = [];
    socket.on('data', (piece: Buffer) => pieces.push(piece));
    await once(socket, 'close', { signal: AbortSignal.timeout(20_000) });
    return Buffer.concat(pieces).toString('latin1');
  }

  it('is no balancer: refused at every port, and nothing is told of whom it named', async () => {
    for (const port of portsOf()) {
      // A TLS alert at most.
      expect((await answerTo(port, '127.0.0.24', Buffer.concat([FORGED, HELLO]))).length).toBeLessThan(16);
    }
    await eventuallyLogged(/"tls\.handshake\.failed".*127\.0\.0\.24|127\.0\.0\.24.*"tls\.handshake\.failed"/);
    expect((await gatewayLogs()) + (await logOf('api'))).not.toContain('203.0.113.9');
  });

  it('and comes to the balancer is turned away there', async () => {
    expect(await answerTo(onePort.port, '127.0.0.25', Buffer.concat([FORGED, HELLO]))).toBe('');
  });

  it.each([
    ['nothing', HELLO, 'no PROXY header came'],
    ['it in version 1', Buffer.from('PROXY TCP4 203.0.113.9 127.0.0.1 1 2\r\n'), 'of version 1'],
  ])('and is a balancer, but says %s, is refused at every port', async (_what, said, why) => {
    for (const port of portsOf()) expect(await answerTo(port, BALANCER, said)).toBe('');
    await eventuallyLogged(new RegExp(`"proxy_protocol\\.refused".*${why}|${why}.*"proxy_protocol\\.refused"`));
    await eventually(async () => expect(await logOf('api')).toContain(why));
  });
});
