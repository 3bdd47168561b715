import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  freePort,
  kubectlOf,
  podManifest,
  startKubelet,
  type Kubectl,
  type KubeletInfo,
  type PodWish,
  type Running,
} from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectionsOf } from '../support/door-log.js';
import { startEgressCluster, type EgressCluster } from '../support/egress-cluster.js';
import { echoed, sha256, succeeds, upgradesIn } from '../support/kubectl-streams.js';
import { scratchStateDir, startTestStack, whoHoldsTheLink, type TestStack } from '../support/test-stack.js';
import { watchProcess } from '../support/watching.js';

const CLIENT = 'kube-apiserver';
const IMAGES = { shell: ['/bin/sh', '-c'], node: [process.execPath, '-e'] };
const ECHO_SERVER = `require('node:http').createServer((q, a) => q.pipe(a)).listen(process.env.PORT, '127.0.0.1')`;
const HASH_INPUT = `process.stdin.pipe(require('node:crypto').createHash('sha256').setEncoding('hex')).pipe(process.stdout)`;
const UPGRADE = { WebSocket: 'websocket', SPDY: 'SPDY/3.1' };
/** A deadline for what takes a second: longer than any machine is busy. */
const SOON_MS = 60_000;
const SPDY = { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' };

let scratch: string;
let running: TestStack;
let cluster: EgressCluster;
let started: AsyncDisposableStack;
let doors: Record<'own' | 'relay', string>;
/** The kubelet that the demo's agent may reach. */
let allowed: string;
let kubelet: Running<KubeletInfo>;
let webPorts: readonly [number, number];
let kubectls: Record<'WebSocket' | 'SPDY', Kubectl>;

beforeAll(async () => {
  started = new AsyncDisposableStack();
  scratch = await scratchStateDir();
  started.defer(() => rm(scratch, { recursive: true, force: true }));
  const port = await freePort();
  allowed = `127.0.0.1:${port}`;
  webPorts = [await freePort(), await freePort()];
  running = started.use(await startTestStack({ demoTargets: [allowed] }));
  const { holder, other } = await whoHoldsTheLink(running.stack);
  doors = { own: holder, relay: other };
  cluster = started.use(await startEgressCluster(running.stack, scratch, CLIENT));
  const kubeconfig = cluster.info.adminKubeconfigPath;
  const options = { timeoutMs: 120_000, log: (): void => undefined };
  kubectls = {
    WebSocket: await kubectlOf(kubeconfig, options),
    SPDY: await kubectlOf(kubeconfig, { ...options, env: SPDY }),
  };
  kubelet = await joinNode('node-1', port);
  await joinNode('node-2');
  await run(
    { name: 'shell', image: 'shell', args: ['sleep 10000'] },
    { name: 'ticker', image: 'shell', args: ['i=0; while sleep 0.1; do i=$((i+1)); echo "tick $i"; done'] },
    ...webPorts.map((PORT) => ({ name: `web-${PORT}`, image: 'node', args: [ECHO_SERVER], env: { PORT: `${PORT}` } })),
    { name: 'elsewhere', node: 'node-2', image: 'shell', args: ['sleep 10000'] },
  );
});
afterAll(() => started?.disposeAsync());

async function joinNode(nodeName: string, port?: number): Promise<Running<KubeletInfo>> {
  const dataDir = join(scratch, nodeName);
  return started.use(
    await startKubelet({ dataDir, kube: cluster.info, nodeName, port, images: IMAGES, log: () => undefined }),
  );
}

/** Makes pods and waits until their containers run. */
async function run(...pods: readonly (Omit<PodWish, 'node'> & Partial<PodWish>)[]): Promise<void> {
  const items = pods.map((pod) => JSON.parse(podManifest({ node: 'node-1', ...pod })) as object);
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  await succeeds(kubectls.WebSocket(['apply', '-f', '-'], list));
  const names = pods.map(({ name }) => `pod/${name}`);
  await succeeds(kubectls.WebSocket(['wait', '--for=condition=Ready', ...names, '--timeout=90s']));
}

describe.each(['own', 'relay'] as const)('a kube-apiserver at the door of the replica whose way is %s', (via) => {
  beforeAll(async () => {
    const connectUrl = running.stack.gateways.find(({ name }) => name === doors[via])?.connectUrl ?? '';
    await cluster.useDoor(connectUrl);
  });

  describe.each(['WebSocket', 'SPDY'] as const)('asked with %s', (protocol) => {
    const kubectl = (...args: Parameters<Kubectl>): ReturnType<Kubectl> => kubectls[protocol](...args);
    const start = (...args: string[]): ReturnType<Kubectl['start']> => kubectls[protocol].start(args);

    it('runs commands: output, exit code, 5 MB of input to its end, 5 MB both ways', async () => {
      const failing = await kubectl(['exec', 'shell', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7']);
      expect(failing).toMatchObject({ code: 7, stdout: Buffer.from('out\n') });
      expect(failing.stderr).toBe('err\ncommand terminated with exit code 7\n');
      const sent = randomBytes(5_000_000);
      const hashed = await kubectl(['exec', '-i', 'shell', '--', process.execPath, '-e', HASH_INPUT], sent);
      expect(hashed).toMatchObject({ code: 0, stdout: Buffer.from(sha256(sent)), stderr: '' });
      expect(await echoed(kubectls[protocol], sent)).toEqual({ code: 0, sha256: sha256(sent) });
      // The door says so once a connection has ended.
      await eventually(async () => {
        const through = await connectionsOf(running.stack, doors[via], CLIENT);
        expect(through.every((connection) => connection.target === allowed && connection.via === via)).toBe(true);
        expect(through.some(({ bytesUp, bytesDown }) => bytesUp > 5_000_000 && bytesDown > 5_000_000)).toBe(true);
      });
    });

    it('really is', async () => {
      const { code, stderr } = await kubectl(['exec', '-v=8', 'shell', '--', 'true']);
      expect(code).toBe(0);
      expect(new Set(upgradesIn(stderr))).toEqual(new Set([UPGRADE[protocol]]));
    });

    it('attaches to a container until it ends', async () => {
      const name = `listener-${via}-${protocol}`.toLowerCase();
      const script = 'while read word; do echo "got $word"; done; echo over >&2';
      await run({ name, image: 'shell', args: [script], stdin: true });
      const attached = start('attach', '-i', name);
      await using watch = watchProcess(attached);
      const exit = once(attached, 'exit');
      attached.stdin.write('hello\n');
      await watch.line(/^got hello$/, SOON_MS);
      attached.stdin.end('again\n');
      await watch.line(/^got again$/, SOON_MS);
      await watch.line(/^over$/, SOON_MS);
      expect(await exit).toEqual([0, null]);
    });

    it('follows a log while a command runs', async () => {
      await using log = watchProcess(start('logs', '-f', '--tail=1', 'ticker'));
      const tick = Number((await log.line(/^tick \d+$/, SOON_MS)).slice('tick '.length));
      const command = start('exec', '-i', 'shell', '--', 'cat');
      await using echo = watchProcess(command);
      const exit = once(command, 'exit');
      for (const [index, word] of ['first', 'second'].entries()) {
        command.stdin.write(`${word}\n`);
        await echo.line(new RegExp(`^${word}$`), SOON_MS);
        await log.line(new RegExp(`^tick ${tick + (index + 1) * 5}$`), SOON_MS);
      }
      command.stdin.end();
      expect(await exit).toEqual([0, null]);
    });

    it('forwards ports of two pods at once', async () => {
      const forwards = webPorts.map((port) => start('port-forward', '-v=8', `pod/web-${port}`, `:${port}`));
      await using one = watchProcess(forwards[0]!);
      await using two = watchProcess(forwards[1]!);
      const answers = [one, two].map(async (forward) => {
        const [local] = /127\.0\.0\.1:\d+/.exec(await forward.line(/Forwarding from 127/, SOON_MS)) ?? [];
        const transfers = [1, 2].map(async () => {
          const body = randomBytes(1_000_000);
          const signal = AbortSignal.timeout(60_000);
          const answer = await fetch(`http://${local}/`, { method: 'POST', body, signal });
          expect(sha256(await answer.bytes())).toBe(sha256(body));
        });
        await Promise.all(transfers);
      });
      await Promise.all(answers);
      for (const { lines } of [one, two]) expect(upgradesIn(lines.join('\n'))).toContain(UPGRADE[protocol]);
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
