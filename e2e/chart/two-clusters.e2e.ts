// @tier full: needs root, Debian's packages and two real nodes; e2e/chart/single shows the chart, e2e/tunnel/two-pods the agent's pods
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROLES } from '@fairlead/contracts';
import { LONGEST_NODE_MS, WAY_OUT, kubectlOf, type Kubectl } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256, succeeds } from '../support/kubectl-streams.js';
import { runPods } from '../support/pod-streams.js';
import { runTool } from '../support/run-tool.js';
import { openOf, tcpProbe } from '../support/tcp-probe.js';
import { watchProcess, type Watch } from '../support/watching.js';
import { EDGE_NODE, doorUrl, kubectlThroughDoor, startEdge, type Edge } from './edge.js';
import { whileAsked } from './load.js';
import { NAMESPACE as CONTROL_PLANE, NODE_ADDRESS, startChartWorld, type ChartWorld } from './world.js';

const START_MS = 600_000;
const STORY_MS = 600_000;
const [CLUSTER, NAMESPACE, AGENTS] = ['edge', 'fairlead-system', 'deployment/fairlead-agent'];
const SELECTOR = 'app.kubernetes.io/name=fairlead-agent';
const AT_ONCE = 4;
/** For so long nothing is cut off: most of the chart's 10 s and the 5 s behind them, of which some have gone by once the log is read. */
const GRACE_MS = 10_000;
/** Of a rollout of the agents, and of what waits for pods. */
const PATIENCE = '--timeout=180s';

const started = new AsyncDisposableStack();
let world: ChartWorld;
let edge: Edge;
/** Through the door, as the administrator. */
let kubectl: Kubectl;
/** At the kube-apiserver of the control plane's own cluster. */
let direct: Kubectl;

beforeAll(async () => {
  world = started.use(
    await startChartWorld({
      gateways: WAY_OUT.to,
      values: { gateways: [{ name: 'a' }, { name: 'b' }] },
    }),
  );
  edge = started.use(await startEdge(world));
  direct = await kubectlOf(world.cluster.kube.info.adminKubeconfigPath, { timeoutMs: STORY_MS, log: () => undefined });
}, START_MS + LONGEST_NODE_MS);
afterAll(() => started.disposeAsync(), START_MS);

async function reaches(enter: readonly string[], host: string, port: number): Promise<boolean> {
  const [nsenter = '', ...where] = enter;
  const printed = await runTool(nsenter, [...where, process.execPath, '-e', tcpProbe([host], port)], {});
  return openOf([host], printed, ['dropped']).length > 0;
}

/** Names of the agents' pods that are linked, once they are so many. */
function linkedPods(count = 2): Promise<string[]> {
  return eventually(
    async () => {
      const shown = JSON.parse(await world.fairlead('cluster', 'show', CLUSTER, '-o', 'json')) as {
        presence: { state: string; agents: { pod: { name: string } | null }[] };
      };
      const names = shown.presence.agents.map(({ pod }) => pod?.name ?? '').toSorted();
      expect([shown.presence.state, names.length]).toEqual(['online', count]);
      return names;
    },
    { timeoutMs: 180_000, intervalMs: 2_000 },
  );
}

/** Asks through the door and at the admin API while something happens; each answer has to come. */
async function withoutFailure(happens: () => Promise<void>): Promise<void> {
  const door = ['/api/v1/namespaces', '/api/v1/pods'].map((path) => doorUrl(CLUSTER, path));
  const load = {
    enter: world.cluster.network.enter,
    caFile: join(world.dir, 'root.pem'),
    tokenFile: join(world.dir, 'token'),
    urls: [...door, `${world.apiUrl}/v1/clusters`],
  };
  const { asked, failures } = await whileAsked(load, happens);
  console.log(`${asked} requests meanwhile`);
  expect(failures).toEqual([]);
  expect(asked).toBeGreaterThan(50);
}

const TICKS = 'while sleep 0.5; do echo tick; done';

const openShells = (): Promise<Watch[]> => ticking(['exec', '-i', 'shell', '--', 'sh', '-c', TICKS]);

/** Several kubectls at once, each of which has printed a tick. */
async function ticking(command: readonly string[]): Promise<Watch[]> {
  const all = Array.from({ length: AT_ONCE }, () => started.use(watchProcess(kubectl.start(command))));
  for (const each of all) await each.line(/^tick$/, 60_000);
  return all;
}

describe('a control plane in one cluster, and agents in another that lets nobody in', () => {
  it('are brought up by one command each', { timeout: STORY_MS }, async () => {
    await world.helm('install');
    for (const name of ['a', 'b'])
      await world.kubectl('wait', '--for=condition=Ready', PATIENCE, `pod/fairlead-gateway-${name}-0`);
    await world.login();
    await world.fairlead('cluster', 'create', CLUSTER);
    await succeeds(edge.kubectl(['apply', '-f', '-'], await world.fairlead('cluster', 'import', CLUSTER)));
    await succeeds(edge.kubectl(['rollout', 'status', AGENTS, '-n', NAMESPACE, PATIENCE]));
    expect(await linkedPods()).toHaveLength(2);
    // All of it came about with the policies of both enforced.
    await Promise.all([world, edge].map(({ policies }) => policies.caughtUp()));
    kubectl = await kubectlThroughDoor(world, CLUSTER);
  });

  it('have no way but out', async () => {
    const kubeletPort = 10_250;
    expect(await reaches(edge.cluster.network.enter, NODE_ADDRESS, kubeletPort)).toBe(true);
    expect(await reaches(world.cluster.network.enter, WAY_OUT.from, kubeletPort)).toBe(false);
    expect(await reaches(edge.cluster.network.enter, WAY_OUT.to, 30_744)).toBe(true);
  });

  it('serve kubectl: lists, commands with their exit codes, input and output', { timeout: STORY_MS }, async () => {
    expect(await kubectl.insist(['get', 'nodes', '-o', 'name'])).toBe(`node/${EDGE_NODE}\n`);
    await runPods(kubectl, { name: 'shell', node: EDGE_NODE, image: 'shell:1', args: ['sleep 10000'] });
    await runPods(kubectl, { name: 'ticker', node: EDGE_NODE, image: 'shell:1', args: [TICKS] });
    expect(await kubectl.text(['exec', 'shell', '--', 'sh', '-c', 'echo out; exit 7'])).toMatchObject({
      code: 7,
      stdout: 'out\n',
    });
    const sent = randomBytes(5_000_000);
    expect(await kubectl.insist(['exec', '-i', 'shell', '--', 'sha256sum'], sent)).toBe(`${sha256(sent)}  -\n`);
  });

  it(
    'answer all the while every Deployment of the control plane is upgraded, and shells go on',
    { timeout: STORY_MS },
    async () => {
      const shells = await openShells();
      const podsOf = (role: string) =>
        world.kubectl('get', 'pods', '-l', `app.kubernetes.io/name=${role}`, '-o', 'name');
      const roles = ROLES.filter((role) => role !== 'gateway');
      const before = await Promise.all(roles.map(podsOf));
      await withoutFailure(async () => {
        await world.helm('upgrade', '--set', 'settings.FAIRLEAD_LOG_LEVEL=debug');
        for (const role of roles) await world.kubectl('rollout', 'status', `deployment/fairlead-${role}`, PATIENCE);
        await eventually(
          async () => {
            const after = await Promise.all(roles.map(podsOf));
            expect(after.flatMap((pods) => pods.trim().split('\n'))).toHaveLength(roles.length);
            expect(after.filter((pods) => before.includes(pods))).toEqual([]);
          },
          { timeoutMs: 180_000, intervalMs: 1_000 },
        );
      });
      expect(shells.map((shell) => shell.endedYet())).toEqual(shells.map(() => false));
    },
  );

  it(
    'answer while one gateway is replaced after the other; shells and logs have time, and hear why they end',
    { timeout: STORY_MS },
    async () => {
      const shells = await openShells();
      const logs = await ticking(['logs', '--follow', '--tail=1', 'ticker']);
      const all = [...shells, ...logs];
      await withoutFailure(async () => {
        for (const pod of ['fairlead-gateway-a-0', 'fairlead-gateway-b-0']) {
          await using log = watchProcess(direct.start(['logs', '--follow', '--tail=1', '-n', CONTROL_PLANE, pod]));
          await log.line(/./, 60_000);
          const going = all.filter((each) => !each.endedYet());
          await world.kubectl('delete', 'pod', pod, '--wait=false');
          await log.line(/"event":"gateway.draining"/, 60_000);
          await sleep(GRACE_MS);
          expect(going.filter((each) => each.endedYet())).toHaveLength(0);
          await log.line(/"event":"process.stopped"/, 120_000);
          expect(log.lines.join('\n')).not.toContain('stop_timed_out');
          await world.kubectl('wait', '--for=delete', PATIENCE, `pod/${pod}`).catch(() => undefined);
          await world.kubectl('wait', '--for=create', PATIENCE, `pod/${pod}`);
          await world.kubectl('wait', '--for=condition=Ready', PATIENCE, `pod/${pod}`);
        }
      });
      for (const shell of shells) {
        await shell.ended(60_000);
        expect(shell.lines.at(-1)).toMatch(/close 1001 \(going away\): this gateway shuts down; run the command again/);
      }
      for (const log of logs) {
        await log.ended(60_000);
        expect(log.lines.at(-1)).toMatch(/server sent GOAWAY .*this gateway shuts down; run the command again/);
      }
      await openShells();
    },
  );

  it('answer while the agents are rolled out, and while their node is drained', { timeout: STORY_MS }, async () => {
    const before = await linkedPods();
    await withoutFailure(async () => {
      await succeeds(edge.kubectl(['rollout', 'restart', AGENTS, '-n', NAMESPACE]));
      await succeeds(edge.kubectl(['rollout', 'status', AGENTS, '-n', NAMESPACE, PATIENCE]));
      const after = await eventually(
        async () => {
          const names = await linkedPods();
          expect(names.filter((name) => before.includes(name))).toEqual([]);
          return names;
        },
        { timeoutMs: 180_000, intervalMs: 1_000 },
      );
      const drained = await edge.kubectl.text(['drain', EDGE_NODE, `--pod-selector=${SELECTOR}`, '--timeout=30s']);
      // There is no other node: the last one is kept.
      expect(drained.stderr).toContain("would violate the pod's disruption budget");
      const [left] = await linkedPods(1);
      expect(after).toContain(left);
      await edge.kubectl.insist(['uncordon', EDGE_NODE]);
      await linkedPods();
    });
  });
});
