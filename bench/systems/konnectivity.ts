import { join } from 'node:path';
import { freePort } from '@fairlead/testbed';
import { z } from 'zod';
import type { PeerPrograms } from '../load/go-programs.js';
import { Program, prefixed, type Command } from '../process/program.js';
import type { Certificates } from './certificates.js';
import { LOCAL, type Leg } from './leg.js';
import type { Part, System } from './system.js';
import type { Target } from './target.js';

export interface KonnectivityOptions {
  readonly programs: PeerPrograms;
  readonly certificates: Certificates;
  readonly target: Target;
  readonly leg: Leg;
  /** For logs. */
  readonly dir: string;
}

interface Ports {
  readonly door: number;
  readonly link: number;
  readonly admin: number;
  readonly health: number;
  readonly agentAdmin: number;
  readonly agentHealth: number;
}

const Linked = z.object({ linked: z.number() });
const IDLE_TIMEOUT_MS = 90_000;
const HOST = LOCAL.gatewayHost;

/**
 * Konnectivity's server as a kube-apiserver would use it (`http-connect` over TCP with mutual TLS), and one agent, with the
 * settings that its manual gives. The agent does not end at SIGTERM for minutes: both are killed.
 */
export async function startKonnectivity(options: KonnectivityOptions, owned: AsyncDisposableStack): Promise<System> {
  const { programs, certificates, target, leg, dir } = options;
  const ports = await choosePorts();
  const program = (part: Part, command: Command): Program => {
    const name = `konnectivity (${part})`;
    return owned.use(new Program({ name, command, logPath: join(dir, `konnectivity-${part}.log`) }));
  };
  const parts = {
    gateway: program('gateway', [programs.server, ...serverFlags(certificates.folder, ports, leg)]),
    agent: program('agent', prefixed(leg.prefix, [programs.agent, ...agentFlags(certificates.folder, ports, leg)])),
  };
  await parts.gateway.start();
  await parts.agent.start();
  const { caPem, clientCertPem: certPem, clientKeyPem: keyPem } = certificates;
  return {
    name: 'konnectivity',
    entrance: {
      way: { address: `${HOST}:${ports.door}`, caPem, certPem, keyPem, connect: true },
      target: target.address,
      banner: target.banner,
    },
    pids: (part) => [parts[part].pid],
    kill: (part) => parts[part].kill(),
    start: (part) => parts[part].start(),
    idleAgents: (count) => {
      const link = `${leg.gatewayHost}:${ports.link}`;
      const command = [programs.idleAgents, String(count), link, certificates.folder] as const;
      const name = 'konnectivity (idle agents)';
      const idle = owned.use(new Program({ name, command, logPath: join(dir, 'konnectivity-idle-agents.log') }));
      const announced = idle.announced.bind(idle, Linked, IDLE_TIMEOUT_MS);
      return Promise.resolve({ link: async () => void (await announced()), unlink: () => idle.kill() });
    },
  };
}

async function choosePorts(): Promise<Ports> {
  const free = await Promise.all(Array.from({ length: 6 }, () => freePort()));
  const [door, link, admin, health, agentAdmin, agentHealth] = free as [number, number, number, number, number, number];
  return { door, link, admin, health, agentAdmin, agentHealth };
}

function serverFlags(folder: string, ports: Ports, { gatewayHost }: Leg): string[] {
  const at = (file: string): string => join(folder, file);
  return [
    '--mode=http-connect',
    '--uds-name=',
    '--server-count=1',
    '--enable-lease-controller=false',
    `--server-ca-cert=${at('ca.crt')}`,
    `--server-cert=${at('server.crt')}`,
    `--server-key=${at('server.key')}`,
    `--server-bind-address=${HOST}`,
    `--server-port=${ports.door}`,
    `--cluster-ca-cert=${at('ca.crt')}`,
    `--cluster-cert=${at('server.crt')}`,
    `--cluster-key=${at('server.key')}`,
    `--agent-bind-address=${gatewayHost}`,
    `--agent-port=${ports.link}`,
    `--admin-bind-address=${HOST}`,
    `--admin-port=${ports.admin}`,
    `--health-bind-address=${HOST}`,
    `--health-port=${ports.health}`,
  ];
}

function agentFlags(folder: string, ports: Ports, { gatewayHost }: Leg): string[] {
  const at = (file: string): string => join(folder, file);
  return [
    `--ca-cert=${at('ca.crt')}`,
    `--agent-cert=${at('client.crt')}`,
    `--agent-key=${at('client.key')}`,
    `--proxy-server-host=${gatewayHost}`,
    `--proxy-server-port=${ports.link}`,
    '--agent-id=bench',
    `--admin-bind-address=${HOST}`,
    `--admin-server-port=${ports.agentAdmin}`,
    `--health-server-host=${HOST}`,
    `--health-server-port=${ports.agentHealth}`,
  ];
}
