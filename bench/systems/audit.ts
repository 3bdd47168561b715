import { chmod, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '@fairlead/clock';
import { startStack, type GatewayAddresses, type Stack } from '@fairlead/stack';
import { kubectlOf } from '@fairlead/testbed';
import { BenchError } from '../process/bench-error.js';
import { treeCpuSeconds } from '../process/tree-cpu.js';
import { linksAt, metricAt } from './metrics.js';
import type { StartOptions, Systems } from './start-systems.js';
import { PLAIN, type AuditProbe, type System } from './system.js';
import { killed, runningPid } from './through-gateways.js';

/** Writers, each of which changes an object of its own. */
const MOST_WRITERS = 64;
/** What stands before the number of the writer. */
export const AUDIT_OBJECT = '/api/v1/namespaces/default/configmaps/audited-';

/** Gateways of one installation, which differ in nothing else; undefined: nothing is kept. */
const GATEWAYS = {
  'audit-off': { FAIRLEAD_AUDIT_SPOOL_DIR: undefined },
  'audit-best-effort': { FAIRLEAD_AUDIT: 'best-effort' },
  'audit-required': { FAIRLEAD_AUDIT: 'required' },
} as const;

const LINKED_WITHIN_MS = 60_000;
const POLL_MS = 200;

/** A gateway of each kind before one cluster; its agent has a link to each, so that no request goes over two of them. */
export async function startAuditSystems(options: StartOptions, owned: AsyncDisposableStack): Promise<Systems> {
  const { dir, wanted, say, signal } = options;
  const stateDir = join(dir, 'fairlead');
  await mkdir(stateDir);
  await chmod(stateDir, 0o711);
  const gateways = Object.keys(GATEWAYS);
  const stack = owned.use(
    await startStack({
      stateDir: join(stateDir, 'state'),
      basePort: 0,
      restart: false,
      gateways,
      gatewayEnv: GATEWAYS,
      links: gateways.length,
      signal,
      log: (event) => {
        if (event.kind === 'progress') say(event.text);
      },
    }),
  );
  if ('unavailable' in stack.demo) throw new BenchError(`there is no demo cluster: ${stack.demo.unavailable}`);
  say('making what is written to');
  await createObjects(stack.demo.adminKubeconfigPath);
  const [token = '', caPem = ''] = await Promise.all(
    [stack.api.adminTokenFile, stack.api.caFile].map((file) => readFile(file, 'utf8')),
  );
  await untilLinked(stack, signal);
  const near = stack.gateways.map((gateway) => throughDoor(stack, gateway, { token: token.trim(), caPem }, signal));
  return { near: near.filter(({ name }) => wanted.includes(name)), far: [] };
}

async function createObjects(adminKubeconfigPath: string): Promise<void> {
  const kubectl = await kubectlOf(adminKubeconfigPath);
  const items = Array.from({ length: MOST_WRITERS }, (_none, at) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `audited-${at}`, namespace: 'default' },
  }));
  const list = { apiVersion: 'v1', kind: 'List', items };
  const { code, stderr } = await kubectl(['create', '-f', '-'], JSON.stringify(list));
  if (code !== 0) throw new BenchError(`the objects to write to could not be made: ${stderr.trim()}`);
}

function throughDoor(
  stack: Stack,
  door: GatewayAddresses,
  asked: { readonly token: string; readonly caPem: string },
  signal: AbortSignal,
): System {
  const { name, doorUrl } = door;
  const [gateway, agent] = [stack.process(name), stack.process('agent-demo')];
  return {
    name: name as keyof typeof GATEWAYS,
    entrance: { way: PLAIN, target: '', banner: '', api: { url: `${doorUrl}/clusters/demo`, ...asked } },
    pids: (part) => [runningPid(part === 'agent' ? agent : gateway)],
    kill: (part) => killed(part === 'agent' ? agent : gateway),
    start: async (part) => {
      await (part === 'agent' ? agent : gateway).restart();
      await untilLinked(stack, signal);
    },
    audit: probeOf(stack, door),
  };
}

function probeOf(stack: Stack, { name, healthUrl: ownUrl }: GatewayAddresses): AuditProbe {
  const audited = stack.gateways.filter((gateway) => gateway.name !== 'audit-off');
  const sum = async (metric: string): Promise<number> => {
    const each = await Promise.all(audited.map(({ healthUrl }) => metricAt(healthUrl, metric)));
    return each.reduce((total, value) => total + value, 0);
  };
  const isAudited = audited.some((gateway) => gateway.name === name);
  return {
    requests: () => metricAt(ownUrl, 'fairlead_gateway_kube_requests_total'),
    syncs: async () => (isAudited ? metricAt(ownUrl, 'fairlead_gateway_audit_sync_seconds_count') : 0),
    records: async () => ({
      forwarded: await sum('fairlead_gateway_audit_forwarded_total'),
      waiting: await sum('fairlead_gateway_audit_records'),
    }),
    entries: async () => metricAt(stack.healthUrl('audit'), 'fairlead_audit_entries_total', 'kind="passage"'),
    cpu: async () => ({
      service: await treeCpuSeconds(runningPid(stack.process('audit'))),
      postgres: await treeCpuSeconds(runningPid(stack.process('postgres'))),
      nats: await treeCpuSeconds(runningPid(stack.process('nats'))),
    }),
  };
}

async function untilLinked({ gateways }: Stack, signal: AbortSignal): Promise<void> {
  const until = systemClock.monotonicMs() + LINKED_WITHIN_MS;
  for (;;) {
    const links = await Promise.all(gateways.map(({ healthUrl }) => linksAt(healthUrl).catch(() => 0)));
    if (links.every((count) => count > 0)) return;
    if (systemClock.monotonicMs() > until) throw new BenchError('the agent has no link to each gateway');
    await systemClock.sleep(POLL_MS, signal);
  }
}
