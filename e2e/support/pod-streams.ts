import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  freePort,
  kubectlOf,
  podManifest,
  startKubelet,
  type KubeInfo,
  type Kubectl,
  type KubectlOptions,
  type KubeletInfo,
  type PodWish,
  type Running,
} from '@fairlead/testbed';
import { expect, it } from 'vitest';
import { echoed, sha256, succeeds, upgradesIn } from './kubectl-streams.js';
import { watchProcess } from './watching.js';

/** How kubectl asks for exec, attach and port-forward: the first is its own choice, the other what it falls back to. */
export const STREAM_PROTOCOLS = ['WebSocket', 'SPDY'] as const;
export type StreamProtocol = (typeof STREAM_PROTOCOLS)[number];

/** A deadline for what takes a second: longer than any machine is busy. */
export const SOON_MS = 60_000;

/** What the pods below run: commands of this machine, under the names that the real node has images by. */
export const STREAMING_IMAGES = { 'shell:1': ['/bin/sh', '-c'], 'node:1': [process.execPath, '-e'] };
/** Whatever still runs then is killed: half a gigabyte takes minutes where much else goes on. */
const LATEST_MS = 280_000;
const ECHO_SERVER = `require('node:http').createServer((q, a) => q.pipe(a)).listen(process.env.PORT, '127.0.0.1')`;
const UPGRADE = { WebSocket: 'websocket', SPDY: 'SPDY/3.1' };
const SPDY = { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' };

/** kubectl for one cluster, by either protocol; `contextArgs` go before each command, which may run within another, or be of another version. */
export async function streamingKubectls(
  kubeconfigPath: string,
  contextArgs: readonly string[] = [],
  how: Pick<KubectlOptions, 'within' | 'version'> = {},
): Promise<Record<StreamProtocol, Kubectl>> {
  const of = async (env: Readonly<Record<string, string>>): Promise<Kubectl> => {
    const kubectl = await kubectlOf(kubeconfigPath, { timeoutMs: LATEST_MS, log: () => undefined, env, ...how });
    const own = (args: readonly string[]): string[] => [...contextArgs, ...args];
    return Object.assign((...[args, stdin]: Parameters<Kubectl>) => kubectl(own(args), stdin), {
      text: (...[args, stdin]: Parameters<Kubectl['text']>) => kubectl.text(own(args), stdin),
      insist: (...[args, stdin]: Parameters<Kubectl['insist']>) => kubectl.insist(own(args), stdin),
      start: (args: readonly string[]) => kubectl.start(own(args)),
    });
  };
  return { WebSocket: await of({}), SPDY: await of(SPDY) };
}

/** A node of a cluster whose pods are processes of this machine, under the images that the real node has too. */
export function joinNode(kube: KubeInfo, dir: string, nodeName: string, port?: number): Promise<Running<KubeletInfo>> {
  const dataDir = join(dir, nodeName);
  return startKubelet({ dataDir, kube, nodeName, port, images: STREAMING_IMAGES, log: () => undefined });
}

/** Makes pods, of `node-1` unless they say otherwise, and waits until their containers run. */
export async function runPods(
  kubectl: Kubectl,
  ...pods: readonly (Omit<PodWish, 'node'> & Partial<PodWish>)[]
): Promise<void> {
  const items = pods.map((pod) => JSON.parse(podManifest({ node: 'node-1', ...pod })) as object);
  await succeeds(kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items })));
  const names = pods.map(({ name }) => `pod/${name}`);
  await succeeds(kubectl(['wait', '--for=condition=Ready', ...names, '--timeout=90s']));
}

/** What `itStreams` needs to be there. */
export interface StreamingPods {
  /** Where two pods serve an echo over HTTP. */
  readonly webPorts: readonly [number, number];
}

/** The pods `shell`, `ticker` and two echo servers. */
export async function runStreamingPods(kubectl: Kubectl): Promise<StreamingPods> {
  const webPorts = [await freePort(), await freePort()] as const;
  await runPods(
    kubectl,
    { name: 'shell', image: 'shell:1', args: ['sleep 10000'] },
    { name: 'ticker', image: 'shell:1', args: ['i=0; while sleep 0.1; do i=$((i+1)); echo "tick $i"; done'] },
    ...webPorts.map((PORT) => ({
      name: `web-${PORT}`,
      image: 'node:1',
      args: [ECHO_SERVER],
      env: { PORT: `${PORT}` },
    })),
  );
  return { webPorts };
}

export interface Streaming {
  readonly kubectl: Kubectl;
  readonly pods: StreamingPods;
  /** Of this test file, for what goes on between pods and files. */
  readonly dir: string;
  /** Unlike that of any other `itStreams`: names a pod. */
  readonly way: string;
}

/** The tests that whatever carries kubectl to a cluster passes, for one protocol. */
export function itStreams(protocol: StreamProtocol, of: () => Streaming): void {
  const kubectl = (...args: Parameters<Kubectl>): ReturnType<Kubectl> => of().kubectl(...args);
  const start = (...args: string[]): ReturnType<Kubectl['start']> => of().kubectl.start(args);

  it('runs commands: output, exit code, 5 MB of input to its end, 5 MB both ways', async () => {
    const failing = await kubectl(['exec', 'shell', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7']);
    expect(failing).toMatchObject({ code: 7, stdout: Buffer.from('out\n') });
    expect(failing.stderr).toBe('err\ncommand terminated with exit code 7\n');
    const sent = randomBytes(5_000_000);
    const hashed = await kubectl(['exec', '-i', 'shell', '--', 'sha256sum'], sent);
    expect(hashed).toMatchObject({ code: 0, stdout: Buffer.from(`${sha256(sent)}  -\n`), stderr: '' });
    expect(await echoed(of().kubectl, sent)).toEqual({ code: 0, sha256: sha256(sent) });
  });

  it('really is', async () => {
    const { code, stderr } = await kubectl(['exec', '-v=8', 'shell', '--', 'true']);
    expect(code).toBe(0);
    expect(new Set(upgradesIn(stderr))).toEqual(new Set([UPGRADE[protocol]]));
  });

  it('attaches to a container until it ends', async () => {
    const name = `listener-${of().way}-${protocol}`.toLowerCase();
    const script = 'while read word; do echo "got $word"; done; echo over >&2';
    await runPods(of().kubectl, { name, image: 'shell:1', args: [script], stdin: true });
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
    const forwards = of().pods.webPorts.map((port) => start('port-forward', '-v=8', `pod/web-${port}`, `:${port}`));
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

  it('copies a file there and back', async () => {
    const here = join(of().dir, `cp-${of().way}-${protocol}`);
    const there = join(here, 'in-the-pod');
    await mkdir(here, { recursive: true });
    await succeeds(kubectl(['exec', 'shell', '--', 'mkdir', '-p', there]));
    const sent = randomBytes(2_000_000);
    await writeFile(join(here, 'sent'), sent);
    const copies = [
      [join(here, 'sent'), `shell:${there}/file`],
      [`shell:${there}/file`, join(here, 'got')],
    ];
    for (const args of copies) {
      const { code, stderr } = await kubectl(['cp', ...args]);
      expect([code, stderr]).toEqual([0, expect.not.stringContaining('error')]);
    }
    expect(sha256(await readFile(join(here, 'got')))).toBe(sha256(sent));
  });
}
