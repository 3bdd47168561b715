import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { freePort, type Kubectl, type KubeletInfo, type Running } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectionsOf } from '../support/door-log.js';
import { startEgressCluster, type EgressCluster } from '../support/egress-cluster.js';
import { echoed, sha256, succeeds } from '../support/kubectl-streams.js';
import {
  itStreams,
  joinNode,
  runPods,
  runStreamingPods,
  streamingKubectls,
  type StreamProtocol,
  type StreamingPods,
} from '../support/pod-streams.js';
import { scratchStateDir, startTestStack, whoHoldsTheLink, type TestStack } from '../support/test-stack.js';

const CLIENT = 'kube-apiserver';
let scratch: string;
let running: TestStack;
let cluster: EgressCluster;
let started: AsyncDisposableStack;
let doors: Record<'own' | 'relay', string>;
/** The kubelet that the demo's agent may reach. */
let allowed: string;
let kubelet: Running<KubeletInfo>;
let pods: StreamingPods;
let kubectls: Record<StreamProtocol, Kubectl>;

beforeAll(async () => {
  started = new AsyncDisposableStack();
  scratch = await scratchStateDir();
  started.defer(() => rm(scratch, { recursive: true, force: true }));
  const port = await freePort();
  allowed = `127.0.0.1:${port}`;
  running = started.use(await startTestStack({ demoTargets: [allowed] }));
  const { holder, other } = await whoHoldsTheLink(running.stack);
  doors = { own: holder, relay: other };
  cluster = started.use(await startEgressCluster(running.stack, scratch, CLIENT));
  kubectls = await streamingKubectls(cluster.info.adminKubeconfigPath);
  kubelet = started.use(await joinNode(cluster.info, scratch, 'node-1', port));
  started.use(await joinNode(cluster.info, scratch, 'node-2'));
  pods = await runStreamingPods(kubectls.WebSocket);
  await runPods(kubectls.WebSocket, { name: 'elsewhere', node: 'node-2', image: 'shell:1', args: ['sleep 10000'] });
});
afterAll(() => started?.disposeAsync());

// To a CONNECT door both protocols are bytes; each way has one of them.
describe.each([
  ['own', 'WebSocket'],
  ['relay', 'SPDY'],
] as const)('a kube-apiserver at the door of the replica whose way is %s', (via, protocol) => {
  beforeAll(async () => {
    const connectUrl = running.stack.gateways.find(({ name }) => name === doors[via])?.connectUrl ?? '';
    await cluster.useDoor(connectUrl);
  });

  describe(`asked with ${protocol}`, () => {
    itStreams(protocol, () => ({ kubectl: kubectls[protocol], pods, dir: scratch, way: via }));

    it('goes through the door, to where the agent may dial', async () => {
      const sent = randomBytes(5_000_000);
      expect(await echoed(kubectls[protocol], sent)).toEqual({ code: 0, sha256: sha256(sent) });
      // The door says so once a connection has ended.
      await eventually(async () => {
        const through = await connectionsOf(running.stack, doors[via], CLIENT);
        expect(through.every((connection) => connection.target === allowed && connection.via === via)).toBe(true);
        expect(through.some(({ bytesUp, bytesDown }) => bytesUp > 5_000_000 && bytesDown > 5_000_000)).toBe(true);
      });
    });
  });

  it('serves others while a client does not read what it asked for', async () => {
    const stalled = kubectls.WebSocket.start(['exec', 'shell', '--', 'yes']);
    // From then on nobody reads, and all buffers on the way fill up.
    await once(
      stalled.stdout.once('data', () => stalled.stdout.pause()),
      'data',
    );
    const exit = once(stalled, 'exit');
    for (const kubectl of Object.values(kubectls)) {
      const sent = randomBytes(5_000_000);
      expect(await echoed(kubectl, sent)).toEqual({ code: 0, sha256: sha256(sent) });
    }
    expect(stalled.exitCode).toBe(null);
    stalled.kill('SIGKILL');
    await exit;
  });

  it('is refused what the agent may not reach, and says why', async () => {
    for (const args of [
      ['exec', 'elsewhere', '--', 'true'],
      ['logs', 'elsewhere'],
    ]) {
      const { code, stderr } = await kubectls.WebSocket(args);
      expect(code).toBe(1);
      expect(stderr).toContain('code 403: 403 Forbidden (TARGET_REFUSED)');
    }
  });
});

/** Runs a command with each protocol, and expects that it comes to nothing. */
async function fails(reason: string): Promise<void> {
  for (const kubectl of Object.values(kubectls)) {
    const { code, stderr } = await kubectl(['exec', 'shell', '--', 'true']);
    expect(code).toBe(1);
    expect(stderr).toContain(reason);
  }
}

const works = (): Promise<void> => succeeds(kubectls.WebSocket(['exec', 'shell', '--', 'true']));

describe('a kube-apiserver is told', () => {
  it('that there is no agent, and finds it when it is back', async () => {
    const agent = running.stack.process('agent-demo');
    await agent.stop();
    // What was said of a connection that was kept is not what is said of a new one.
    await eventually(() => fails('code 503: 503 Service Unavailable (AGENT_'));
    const { stdout } = await kubectls.WebSocket(['get', '--raw', '/metrics']);
    expect(stdout.toString()).toMatch(
      /^apiserver_egress_dialer_dial_failure_count\{protocol="http_connect".*\} [1-9]/m,
    );
    await agent.restart();
    await eventually(works, { timeoutMs: 90_000 });
  });

  it('that the kubelet is away, and finds it when it is back', async () => {
    await kubelet.stop();
    await eventually(() => fails('code 502: 502 Bad Gateway (TARGET_UNREACHABLE)'));
    await kubelet.restart();
    await eventually(works, { timeoutMs: 90_000 });
  });

  it('that its client was deleted; a new certificate counts from its next start', async () => {
    await succeeds(running.stack.cli(['client', 'delete', CLIENT, '--yes']));
    await eventually(() => fails('code 403: 403 Forbidden (CERTIFICATE_REFUSED)'));
    await cluster.renewClient();
    await fails('code 403: 403 Forbidden (CERTIFICATE_REFUSED)');
    await cluster.restart();
    await eventually(works, { timeoutMs: 90_000 });
  });
});
