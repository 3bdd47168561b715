// @tier full: e2e/api-door/streams shows exec, logs, cp and port-forward on it, e2e/tunnel/stories/agent-pod a restart of what was killed
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:https';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { temporaryDirectory } from '../fixtures/temporary.js';
import { startNetworkNamespace } from '../network/network-namespace.js';
import { isAlive } from '../process/is-alive.js';
import { freePort } from '../process/ports.js';
import type { KubeInfo, KubeletInfo, Running } from './contract.js';
import { kubectlOf, type Kubectl } from './kubectl.js';
import { startKubelet } from './kubelet.js';
import { startKubernetes } from './kubernetes.js';
import { podManifest, type PodWish } from './pod-manifest.js';

const SHELL = 'fairlead.test/shell';
const NODE = 'fairlead.test/node';
const WEB_SERVER = `require('node:http').createServer((q, a) => a.end('you asked for ' + q.url)).listen(process.env.PORT, '127.0.0.1')`;

let dir: Awaited<ReturnType<typeof temporaryDirectory>>;
let cluster: Running<KubeInfo>;
let kubelet: Running<KubeletInfo>;
let kubectl: Kubectl;

beforeAll(async () => {
  vi.stubEnv('FAIRLEAD_TESTBED_PROVIDERS', 'path,download,go');
  dir = await temporaryDirectory();
  cluster = await startKubernetes({ dataDir: join(dir.path, 'kubernetes'), asProcesses: true, log: () => {} });
  kubelet = await startKubelet({
    dataDir: join(dir.path, 'kubelet'),
    kube: cluster.info,
    nodeName: 'node-1',
    images: { [SHELL]: ['/bin/sh', '-c'], [NODE]: [process.execPath, '-e'] },
    log: () => {},
  });
  kubectl = await kubectlOf(cluster.info.adminKubeconfigPath, { timeoutMs: 120_000, log: () => {} });
});

afterAll(async () => {
  await kubelet?.stop();
  await cluster?.stop();
  await dir?.[Symbol.asyncDispose]();
  vi.unstubAllEnvs();
});

async function run(pod: Omit<PodWish, 'node'> & Partial<PodWish>): Promise<void> {
  const { code, stderr } = await kubectl(['apply', '-f', '-'], podManifest({ node: 'node-1', ...pod }));
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
}

/** A shell that says its pid first. In a container's arguments `$$` is an escaped `$`. */
async function runShell(name: string, script: string, more: Partial<PodWish> = {}): Promise<void> {
  await run({ name, image: SHELL, args: [`echo "pid $$$$"; ${script}`], ...more });
}

/** Waits until kubectl's `jsonpath` of the pod is the value. */
async function becomes(pod: string, path: string, value: string): Promise<void> {
  const wanted = `--for=jsonpath={${path}}=${value}`;
  const { code, stderr } = await kubectl(['wait', wanted, `pod/${pod}`, '--timeout=90s']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
}

const ready = async (pod: string): Promise<void> => becomes(pod, '.status.containerStatuses[0].ready', 'true');

async function read(pod: string, path: string): Promise<string> {
  return (await kubectl(['get', 'pod', pod, `-o=jsonpath={${path}}`])).stdout.toString();
}

/** The first line of a stream that matches; fails with what there was when it ends. */
async function line(stream: Readable, pattern: RegExp): Promise<string> {
  const seen: string[] = [];
  for await (const each of createInterface({ input: stream })) {
    if (pattern.test(each)) return each;
    seen.push(each);
  }
  throw new Error(`no line like ${String(pattern)}; there were:\n${seen.join('\n')}`);
}

async function untilGone(pid: number): Promise<void> {
  for (const deadline = Date.now() + 60_000; isAlive(pid); await sleep(20)) {
    if (Date.now() > deadline) throw new Error(`process ${pid} is still there`);
  }
}

/** Waits until the pod has logged all of it; a container is ready before its first line has come. */
async function logged(pod: string, pattern: RegExp): Promise<RegExpExecArray> {
  for (const deadline = Date.now() + 60_000; ; await sleep(50)) {
    const log = (await kubectl(['logs', pod])).stdout.toString();
    const match = pattern.exec(log);
    if (match !== null) return match;
    if (Date.now() > deadline) throw new Error(`nothing like ${String(pattern)} in the log:\n${log}`);
  }
}

/** Of a pod that `runShell` made. */
async function pidOf(pod: string): Promise<number> {
  return Number((await logged(pod, /^pid (\d+)$/mu))[1]);
}

describe('a test kubelet', () => {
  it('is a node that is ready, at its address', async () => {
    const { stdout } = await kubectl(['get', 'node', 'node-1', '-o', 'json']);
    const { status } = JSON.parse(stdout.toString()) as { status: Record<string, unknown> };
    expect(status).toMatchObject({
      addresses: [
        { type: 'InternalIP', address: '127.0.0.1' },
        { type: 'Hostname', address: 'node-1' },
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: kubelet.info.port } },
      conditions: [{ type: 'Ready', status: 'True' }],
    });
  });

  it('runs commands: their output, their exit code, their input to its end', async () => {
    await runShell('commands', 'sleep 1000');
    await ready('commands');
    const failed = await kubectl(['exec', 'commands', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7']);
    expect(failed).toMatchObject({ code: 7, stdout: Buffer.from('out\n') });
    expect(failed.stderr).toMatch(/^err\n[^]*exit code 7/u);
    const sent = randomBytes(200_000);
    const echoed = await kubectl(['exec', '-i', 'commands', '--', 'cat'], sent);
    expect(echoed.code).toBe(0);
    expect(echoed.stdout.equals(sent)).toBe(true);
    const missing = await kubectl(['exec', 'commands', '--', '/no/such/program']);
    expect(missing.code).toBe(1);
    expect(missing.stderr).toContain('/no/such/program: no such file');
  });

  it('ends a command that goes on writing when its client is gone', async () => {
    await runShell('writer', 'sleep 1000');
    await ready('writer');
    const writing = kubectl.start(['exec', 'writer', '--', 'sh', '-c', 'echo $$; exec yes']);
    const pid = Number(await line(writing.stdout, /^\d+$/u));
    expect(isAlive(pid)).toBe(true);
    writing.kill('SIGKILL');
    await untilGone(pid);
  });

  it('gives commands a terminal of the size that the client has', async () => {
    // kubectl asks for a terminal only if it has one itself.
    const proxy = kubectl.start(['proxy', '--port=0', '--reject-paths=^$']);
    const [address] = /127\.0\.0\.1:\d+/u.exec(await line(proxy.stdout, /Starting to serve/u)) ?? [];
    await runShell('screen', 'sleep 1000');
    await ready('screen');
    const script = 'while [ "$(stty size)" != "40 100" ]; do sleep 0.05; done; tty';
    const query = new URLSearchParams([
      ['stdout', 'true'],
      ['tty', 'true'],
      ['command', 'sh'],
      ['command', '-c'],
      ['command', script],
    ]);
    const url = `ws://${address}/api/v1/namespaces/default/pods/screen/exec?${query.toString()}`;
    const socket = new WebSocket(url, 'v5.channel.k8s.io');
    socket.binaryType = 'arraybuffer';
    const said = new Map<number, string>();
    socket.addEventListener('message', ({ data }) => {
      const [channel, ...text] = new Uint8Array(data as ArrayBuffer);
      said.set(channel!, (said.get(channel!) ?? '') + Buffer.from(text).toString());
    });
    await once(socket, 'open', { signal: AbortSignal.timeout(60_000) });
    const [STDOUT, STATUS, RESIZE] = [1, 3, 4] as const;
    socket.send(Buffer.from([RESIZE, ...Buffer.from('{"Width":100,"Height":40}')]));
    await once(socket, 'close', { signal: AbortSignal.timeout(60_000) });
    expect(said.get(STDOUT)).toMatch(/^\/dev\/(?:pts\/|tty)\S+\r\n$/u);
    expect(said.get(STATUS)).toContain('"Success"');
    proxy.kill('SIGTERM');
    await once(proxy, 'exit');
  });

  it('serves logs: all, the tail, since a time, followed to the end of the container, of the run before', async () => {
    const until = (file: string): string => `while [ ! -e ${file} ]; do sleep 0.1; done`;
    const script = `${until('begun')}; echo two >&2; ${until('go')}; echo three; printf unfinished`;
    await runShell('talker', script);
    await ready('talker');
    // Two streams keep no order between them, so each line waits until the one before has arrived.
    await logged('talker', /^pid \d+\n$/u);
    await kubectl(['exec', 'talker', '--', 'touch', 'begun']);
    await logged('talker', /^pid \d+\ntwo\n$/u);
    expect((await kubectl(['logs', 'talker', '--tail=1'])).stdout.toString()).toBe('two\n');
    const following = kubectl.start(['logs', '-f', '--tail=1', 'talker']);
    following.stdin.end();
    const followed = once(following, 'exit');
    const lines = createInterface({ input: following.stdout })[Symbol.asyncIterator]();
    // From its first line on it follows; what is said before that would be in the tail.
    expect((await lines.next()).value).toBe('two');
    await kubectl(['exec', 'talker', '--', 'touch', 'go']);
    expect([(await lines.next()).value, (await lines.next()).value]).toEqual(['three', 'unfinished']);
    expect(await followed).toEqual([0, null]);
    await becomes('talker', '.status.phase', 'Succeeded');
    const stamped = (await kubectl(['logs', '--timestamps', 'talker'])).stdout.toString().trimEnd().split('\n');
    expect(stamped.map((each) => each.replace(/^\S+ /u, '').replace(/\d+$/u, 'N'))).toEqual([
      'pid N',
      'two',
      'three',
      'unfinished',
    ]);
    // What the API takes has whole seconds.
    const future = new Date(Date.parse(stamped[3]!.split(' ')[0]!) + 1_000).toISOString();
    expect((await kubectl(['logs', `--since-time=${future}`, 'talker'])).stdout.toString()).toBe('');
    const past = '2020-01-01T00:00:00Z';
    expect((await kubectl(['logs', `--since-time=${past}`, 'talker'])).stdout.toString()).toContain('unfinished');
    expect((await kubectl(['logs', '--previous', 'talker'])).stderr).toContain('previous terminated container');
  });

  it('attaches to the standard streams of a container', async () => {
    await runShell('listener', 'while read word; do echo "got $word"; done; echo over >&2; exit 4', { stdin: true });
    await ready('listener');
    const attached = kubectl.start(['attach', '-i', 'listener']);
    const detached = once(attached, 'exit');
    attached.stdin.write('hello\n');
    const [answer, over] = [line(attached.stdout, /^got hello$/u), line(attached.stderr, /^over$/u)];
    expect(await answer).toBe('got hello');
    attached.stdin.end();
    expect(await over).toBe('over');
    await detached;
    await becomes('listener', '.status.phase', 'Failed');
    expect(await read('listener', '.status.containerStatuses[0].state.terminated.exitCode')).toBe('4');
    expect((await kubectl(['logs', 'listener'])).stdout.toString()).toMatch(/got hello\nover\n$/u);
  });

  it('forwards ports', async () => {
    const port = await freePort();
    await run({ name: 'web', image: NODE, args: [WEB_SERVER], env: { PORT: String(port) } });
    await ready('web');
    const forward = kubectl.start(['port-forward', 'pod/web', `:${port}`]);
    forward.stdin.end();
    const [local] = /127\.0\.0\.1:\d+/u.exec(await line(forward.stdout, /-> /u)) ?? [];
    for (const path of ['/a', '/b']) {
      const answer = await fetch(`http://${local}${path}`, { signal: AbortSignal.timeout(60_000) });
      expect(await answer.text()).toBe(`you asked for ${path}`);
    }
    forward.kill('SIGTERM');
    await once(forward, 'exit');
  });

  it('cannot pull an image that is not in the map', async () => {
    await run({ name: 'unknown', image: 'nobody/has-it:1' });
    await becomes('unknown', '.status.containerStatuses[0].state.waiting.reason', 'ImagePullBackOff');
    expect(await read('unknown', '.status.phase')).toBe('Pending');
    expect((await kubectl(['logs', 'unknown'])).stderr).toContain('trying and failing to pull image');
    expect((await kubectl(['exec', 'unknown', '--', 'true'])).code).toBe(1);
    expect((await kubectl(['delete', 'pod', 'unknown', '--timeout=90s'])).code).toBe(0);
  });

  it('rather fails a pod than run something else than was asked for', async () => {
    const pod = JSON.parse(podManifest({ name: 'demanding', node: 'node-1', image: SHELL })) as { spec: object };
    const spec = { ...pod.spec, volumes: [{ name: 'scratch', hostPath: { path: '/' } }] };
    expect((await kubectl(['apply', '-f', '-'], JSON.stringify({ ...pod, spec }))).stderr).toBe('');
    await becomes('demanding', '.status.phase', 'Failed');
    expect(await read('demanding', '.status.message')).toBe('the test kubelet has no volumes of the kind of scratch');
  });

  it('restarts what failed as the policy says, more slowly each time', async () => {
    await runShell('crashing', 'exit 3', { restartPolicy: 'OnFailure' });
    await vi.waitFor(
      async () =>
        expect(Number(await read('crashing', '.status.containerStatuses[0].restartCount'))).toBeGreaterThan(1),
      { timeout: 90_000, interval: 200 },
    );
    await becomes('crashing', '.status.containerStatuses[0].state.waiting.reason', 'CrashLoopBackOff');
    expect(await read('crashing', '.status.containerStatuses[0].lastState.terminated.exitCode')).toBe('3');
    expect(await read('crashing', '.status.phase')).toBe('Running');
    expect((await kubectl(['logs', '--previous', 'crashing'])).stdout.toString()).toMatch(/^pid \d+\n$/u);
  });

  it('ends the processes of a pod that is deleted, and only then is it gone', async () => {
    await runShell('doomed', 'trap "" TERM; sleep 1000 & echo "child $!"; while :; do sleep 1; done');
    await ready('doomed');
    const [, ...said] = await logged('doomed', /^pid (\d+)\nchild (\d+)$/mu);
    const pids = said.map(Number);
    const command = kubectl.start(['exec', 'doomed', '--', 'sh', '-c', 'echo $$; sleep 1000']);
    pids.push(Number(await line(command.stdout, /^\d+$/u)));
    expect(pids.map(isAlive)).toEqual([true, true, true]);
    expect((await kubectl(['delete', 'pod', 'doomed', '--timeout=90s'])).code).toBe(0);
    // Its leader was waited for; what that left behind was killed, and the kernel takes a moment for it.
    for (const pid of pids) await untilGone(pid);
    expect((await kubectl(['get', 'pod', 'doomed'])).stderr).toContain('not found');
  });

  it('answers nobody without a certificate of the cluster', async () => {
    const { address, port } = kubelet.info;
    const asked = request(`https://${address}:${port}/healthz`, { ca: cluster.info.caPem, agent: false });
    await expect(once(asked.end(), 'response')).rejects.toMatchObject({
      code: expect.stringMatching(/ECONNRESET|SSL/u),
    });
  });

  it.runIf(process.platform === 'linux')(
    'runs pods that reach nothing but the API server, in a network of theirs',
    async () => {
      await using network = await startNetworkNamespace();
      await using cutOff = await startKubelet({
        dataDir: join(dir.path, 'cut-off'),
        kube: cluster.info,
        nodeName: 'node-2',
        images: { [SHELL]: ['/bin/sh', '-c'] },
        network,
        log: () => {},
      });
      await runShell('lonely', 'sleep 1000', { node: 'node-2' });
      await ready('lonely');
      const dials = async (port: number | string): Promise<string> => {
        const script = `require('node:net').connect(${port}, '127.0.0.1')
        .once('connect', () => process.exit()).once('error', ({ code }) => console.log(code));`;
        return (await kubectl(['exec', 'lonely', '--', process.execPath, '-e', script])).stdout.toString().trim();
      };
      expect(await dials(new URL(cluster.info.url).port)).toBe('');
      expect(await dials(kubelet.info.port)).toBe('ECONNREFUSED');
      await cutOff.restart();
      await vi.waitFor(async () => expect(await dials(kubelet.info.port)).toBe('ECONNREFUSED'), { timeout: 60_000 });
      expect((await kubectl(['delete', 'pod', 'lonely', '--timeout=90s'])).code).toBe(0);
    },
  );

  it('takes its processes along, however it ends, and runs its pods again when it is back', async () => {
    await runShell('lasting', 'sleep 1000', { restartPolicy: 'Always' });
    await ready('lasting');
    const before = await pidOf('lasting');
    const { exited } = kubelet;
    kubelet.kill('SIGKILL');
    await exited;
    await untilGone(before);
    await kubelet.restart();
    await ready('lasting');
    const after = await pidOf('lasting');
    expect(isAlive(after)).toBe(true);
    await kubelet.stop();
    expect(isAlive(after)).toBe(false);
  });
});
