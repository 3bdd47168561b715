import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { systemClock } from '@fairlead/clock';
import { SERVICES, SINGLETONS, rowOf, type Singleton } from '@fairlead/contracts';
import { freePort } from '@fairlead/testbed';
import { PortInUseError, StackError } from '../errors.js';

const { listens: GATEWAY_LISTENS, healthPort: GATEWAY_HEALTH } = SERVICES.gateway;
type GatewayPort = keyof typeof GATEWAY_LISTENS | 'health';
const GATEWAY_PORTS = [...Object.keys(GATEWAY_LISTENS), 'health'] as readonly GatewayPort[];

/** Ports of one gateway replica. */
type GatewayPorts = Readonly<Record<GatewayPort, number>>;

type HealthPort = `${Singleton}Health`;

/** Every port that a stack listens on, all on 127.0.0.1. */
export interface PortPlan extends Readonly<Record<HealthPort, number>> {
  readonly api: number;
  readonly agentHealth: number;
  readonly nats: number;
  readonly postgres: number;
  readonly kube: number;
  readonly etcd: number;
  /** Of the Git host of a demo with GitOps: HTTPS and SSH. */
  readonly gitea: number;
  readonly giteaSsh: number;
  /** Where people of the demo log in. */
  readonly demoIssuer: number;
  readonly gateways: readonly GatewayPorts[];
}

/** `gitops`: it follows a repository. */
export type DemoKind = 'none' | 'plain' | 'gitops';

/** Where `npm start` listens: 7070, 7443, … are this plus 70, 443, …. */
export const DEFAULT_BASE_PORT = 7_000;
const HIGHEST_BASE = 64_000;

/**
 * Ports counted from a base; or, for base 0, free ones, which a state directory keeps: what was told to users and agents
 * stays true over a restart.
 */
export async function planPorts(basePort: number, gateways: number, keptIn: string): Promise<PortPlan> {
  if (basePort === 0) return keptPorts(gateways, keptIn);
  if (basePort < 1_024 || basePort > HIGHEST_BASE) {
    throw new StackError(`a port base is between 1024 and ${HIGHEST_BASE}, not ${basePort}`);
  }
  const above = (offset: number): number => basePort + offset;
  const moved = (port: number): number => above(port - DEFAULT_BASE_PORT);
  return {
    api: moved(SERVICES.api.listens.https.port),
    ...healthPorts((role) => moved(rowOf(role).healthPort)),
    agentHealth: above(74),
    nats: above(422),
    postgres: above(432),
    kube: above(643),
    etcd: above(479),
    gitea: above(630),
    giteaSsh: above(622),
    demoIssuer: above(680),
    gateways: Array.from({ length: gateways }, (_, index) => {
      // 443, 543, then 843 and on: 643 is the demo cluster's.
      const later = 100 * index + (index < 2 ? 0 : 200);
      return gatewayPorts((name) => moved(name === 'health' ? GATEWAY_HEALTH : GATEWAY_LISTENS[name].port) + later);
    }),
  };
}

async function keptPorts(gateways: number, keptIn: string): Promise<PortPlan> {
  if (existsSync(keptIn)) {
    const plan = JSON.parse(readFileSync(keptIn, 'utf8')) as PortPlan;
    if (plan.gateways.length === gateways) return withNewerPorts(plan, keptIn);
  }
  const count = 9 + SINGLETONS.length + GATEWAY_PORTS.length * gateways;
  const ports = await Promise.all(Array.from({ length: count }, () => freePort()));
  const take = (): number => {
    const port = ports.pop();
    if (port === undefined) throw new RangeError(`a plan has more than ${count} ports`);
    return port;
  };
  const plan: PortPlan = {
    api: take(),
    ...healthPorts(take),
    agentHealth: take(),
    nats: take(),
    postgres: take(),
    kube: take(),
    etcd: take(),
    gitea: take(),
    giteaSsh: take(),
    demoIssuer: take(),
    gateways: Array.from({ length: gateways }, () => gatewayPorts(take)),
  };
  keep(plan, keptIn);
  return plan;
}

function healthPorts(portOf: (role: Singleton) => number): Record<HealthPort, number> {
  const ports = SINGLETONS.map((role) => [`${role}Health`, portOf(role)] as const);
  return Object.fromEntries(ports) as Record<HealthPort, number>;
}

function gatewayPorts(portOf: (name: GatewayPort) => number): GatewayPorts {
  return Object.fromEntries(GATEWAY_PORTS.map((name) => [name, portOf(name)])) as GatewayPorts;
}

/** A plan that an older version kept has no ports for the Git host, the demo issuer, or services and doors that came later. */
async function withNewerPorts(plan: PortPlan, keptIn: string): Promise<PortPlan> {
  const kept: readonly Partial<GatewayPorts>[] = plan.gateways;
  const single: Readonly<Record<string, unknown>> = { ...plan };
  const names = ['gitea', 'giteaSsh', 'demoIssuer', ...SINGLETONS.map((role) => `${role}Health` as const)] as const;
  const missing = names.filter((name) => single[name] === undefined);
  if (missing.length === 0 && kept.every((each) => GATEWAY_PORTS.every((name) => each[name] !== undefined)))
    return plan;
  const gateways = await Promise.all(kept.map(withFreePorts));
  const added = await Promise.all(missing.map(async (name) => [name, await freePort()] as const));
  const complete = { ...plan, ...Object.fromEntries(added), gateways };
  keep(complete, keptIn);
  return complete;
}

async function withFreePorts(kept: Partial<GatewayPorts>): Promise<GatewayPorts> {
  const ports = await Promise.all(GATEWAY_PORTS.map(async (name) => [name, kept[name] ?? (await freePort())] as const));
  return Object.fromEntries(ports) as GatewayPorts;
}

function keep(plan: PortPlan, keptIn: string): void {
  writeFileSync(keptIn, `${JSON.stringify(plan, null, 2)}\n`, { mode: 0o600 });
}

const GATEWAY_PORT_USES: Readonly<Record<GatewayPort, string>> = {
  door: 'for kubectl',
  link: 'for agents',
  relay: 'for other replicas',
  connect: 'for CONNECT',
  health: 'its health check',
};

/** Each port with who needs it, in words; without those that the environment names a running server for. */
export function portUses(
  ports: PortPlan,
  gateways: readonly string[],
  demo: DemoKind,
  demoIssuer: boolean,
): (readonly [number, string])[] {
  const { env } = process;
  return [
    [ports.api, 'the admin API'],
    ...SINGLETONS.map((role) => [ports[`${role}Health`], `${rowOf(role).title}'s health check`] as const),
    ...(env['NATS_URL'] ? [] : [[ports.nats, 'nats'] as const]),
    ...(env['DATABASE_URL'] ? [] : [[ports.postgres, 'Postgres'] as const]),
    ...(demo === 'plain' ? [[ports.agentHealth, "the demo agent's health check"] as const] : []),
    ...(demo === 'gitops'
      ? [[ports.gitea, "the demo's Git host"] as const, [ports.giteaSsh, "the demo's Git host (SSH)"] as const]
      : []),
    ...(demoIssuer ? [[ports.demoIssuer, 'the demo issuer'] as const] : []),
    ...(demo === 'gitops' || (demo === 'plain' && !env['FAIRLEAD_TESTBED_KUBECONFIG'])
      ? [[ports.kube, "the demo cluster's API server"] as const, [ports.etcd, "the demo cluster's etcd"] as const]
      : []),
    ...ports.gateways.flatMap((each, index) =>
      GATEWAY_PORTS.map((name) => [each[name], `${gateways[index]} (${GATEWAY_PORT_USES[name]})`] as const),
    ),
  ];
}

/** Throws PortInUseError for the first port that somebody still listens on after `patienceMs`. */
export async function requireFree(
  ports: readonly (readonly [port: number, neededBy: string])[],
  patienceMs: number,
): Promise<void> {
  const deadline = performance.now() + patienceMs;
  for (const [port, neededBy] of ports) {
    while (!(await isFree(port))) {
      if (performance.now() >= deadline) throw new PortInUseError(port, neededBy);
      await systemClock.sleep(100);
    }
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
