import { readFile } from 'node:fs/promises';
import { parseEndpoint } from '@fairlead/agent';
import type { DoorLimits } from '@fairlead/gateway';
import { startInstallation, type Replica, type TestInstallation } from '@fairlead/installation';

export interface KeyAndChain {
  readonly keyPem: string;
  readonly chainPem: string;
}

/** The gateway replica under test, as a peer sees it: addresses, and credentials to come with. */
export interface GatewaySubject extends AsyncDisposable {
  /** `host:port` of its three doors. Connections out of the cluster may reach 127.0.0.1, ports 1024 and above. */
  readonly link: string;
  readonly relay: string;
  readonly door: string;
  readonly rootsPem: readonly string[];
  readonly clusterId: string;
  readonly clusterName: string;
  readonly token: string;
  /** Of the cluster, generation 1. */
  readonly agent: KeyAndChain;
  /** Of another replica. */
  readonly gateway: KeyAndChain;
  /** The installation it runs in, when it is this checkout's. */
  readonly installation?: TestInstallation;
}

/** Names a JSON file with a GatewaySubject: the suite then runs against that build instead of this checkout. */
const SUBJECT_FILE = 'FAIRLEAD_CONFORMANCE_GATEWAY';

export async function gatewaySubject(): Promise<GatewaySubject> {
  const file = process.env[SUBJECT_FILE];
  if (file === undefined) return ownSubject();
  const subject = JSON.parse(await readFile(file, 'utf8')) as Omit<GatewaySubject, keyof AsyncDisposable>;
  return { ...subject, [Symbol.asyncDispose]: () => Promise.resolve() };
}

/** A script opens more in a second than a cluster may. */
const MANY_OPENS = { perIdentity: { connections: 128, opensPerSecond: 1_000, heldBytes: 64 * 1024 ** 2 } };

/** A replica of this checkout, in an installation of its own; connections out of the cluster as these rules say. */
export async function ownSubject(
  allowEgress = ['127.0.0.1:1024-65535', '127.0.0.0/8:80', 'localhost:8080'],
  egressLimits: Partial<DoorLimits> = MANY_OPENS,
): Promise<GatewaySubject> {
  const installation = await startInstallation();
  const replica = await installation.startReplica('gateway-a', { allowEgress, egressLimits });
  const subject = await subjectOf(installation, replica);
  return { ...subject, installation, [Symbol.asyncDispose]: () => installation[Symbol.asyncDispose]() };
}

/** A replica of somebody's installation, which outlives it. */
export async function subjectOf(
  { authority, cluster, token }: TestInstallation,
  { gateway }: Replica,
): Promise<GatewaySubject> {
  const [agent, other] = await Promise.all([authority.agent(cluster.clusterId), authority.gateway('gateway-b')]);
  return {
    link: gateway.link.address,
    relay: gateway.relay.address,
    door: gateway.door.address,
    rootsPem: authority.roots,
    clusterId: cluster.clusterId,
    clusterName: cluster.name,
    token,
    agent: { keyPem: agent.privateKeyPem, chainPem: agent.chainPem },
    gateway: { keyPem: other.privateKeyPem, chainPem: other.chainPem },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

export const hostAndPort = (address: string): { host: string; port: number } => parseEndpoint(address);
