import { SERVICES, type Role, type Singleton } from '@fairlead/contracts';
import { allocatorEnvironment } from '../process/allocator.js';
import { baseEnvironment } from '../process/base-environment.js';
import type { PortPlan } from '../state/port-plan.js';
import type { StateDir } from '../state/state-dir.js';
import { trustOf } from './infrastructure-tls.js';
import { seedFile } from './nats-credentials.js';

/**
 * As import manifests name what was built on this machine. A node asks only itself for images of `localhost`: nobody else's can come in their
 * place where they were not loaded.
 */
export const AGENT_IMAGE = 'localhost/fairlead/agent:dev';
export const INSTALLER_IMAGE = 'localhost/fairlead/installer:dev';

export const TRUST_DOMAIN = 'fairlead.local';
const LOCAL_NAMES = '127.0.0.1,localhost';
/** Names below localhost are this machine's without any entry in DNS, for whoever knows them (RFC 6761, section 6.3). */
const CLUSTER_DOMAIN = 'fairlead.localhost';

type Environment = Readonly<Record<string, string>>;

/** What the environments of all services depend on. */
export interface ControlPlane {
  readonly state: StateDir;
  readonly ports: PortPlan;
  readonly gateways: readonly string[];
  /** On top of what each of a role gets. */
  readonly env: Readonly<Partial<Record<Role, Environment>>>;
  /** On top of that, what single gateways get. */
  readonly gatewayEnv?: Readonly<Record<string, Readonly<Record<string, string | undefined>>>>;
  readonly natsUrl: string;
  /** The superuser's. */
  readonly databaseUrl: string;
  readonly logLevel: string;
  readonly leaseSeconds: number;
  readonly certificateTtlSeconds: number;
  /** Host that clusters and people elsewhere reach this machine by; `127.0.0.1`: nobody elsewhere. */
  readonly advertise: string;
  /** In import manifests. The demo's agent runs from this repository and pulls nothing. */
  readonly agentImage: string;
}

export const at = (port: number): string => `127.0.0.1:${port}`;

/** What the only process of a role is started with. */
export function environmentOf(plane: ControlPlane, role: Singleton): Environment {
  return {
    ...processEnvironment(plane, role, plane.ports[`${role}Health`]),
    ...(SERVICES[role].tier === 'service' ? databaseEnvironment(plane, role) : {}),
    ...OWN_SETTINGS[role]?.(plane),
    ...plane.env[role],
  };
}

/** What no other process is told. */
const OWN_SETTINGS: Readonly<Partial<Record<Singleton, (plane: ControlPlane) => Environment>>> = {
  access: (plane) => ({ FAIRLEAD_ADMIN_TOKEN_FILE: adminTokenFile(plane.state) }),
  registration: (plane) => ({
    FAIRLEAD_LINK_ENDPOINTS: linkEndpoints(plane).join(','),
    FAIRLEAD_AGENT_IMAGE: plane.agentImage,
    // Another one is set by `env`.
    FAIRLEAD_INSTALLER_IMAGE: INSTALLER_IMAGE,
    // What was built on this machine has no digest of a registry.
    FAIRLEAD_INSECURE_IMAGE_TAGS: 'true',
  }),
  keys: (plane) => ({
    FAIRLEAD_MASTER_KEY_FILE: plane.state.file('secrets', 'master.key'),
    FAIRLEAD_TRUST_DOMAIN: TRUST_DOMAIN,
    FAIRLEAD_AUDIT_CHECKPOINTS_DIR: plane.state.file('audit-checkpoints'),
    // All on one machine: here the doors have the names of the admin API too.
    FAIRLEAD_API_SERVING_NAMES: servingNames(plane),
    FAIRLEAD_GATEWAY_SERVING_NAMES: doorNames(plane),
    FAIRLEAD_CERTIFICATE_TTL_SECONDS: String(plane.certificateTtlSeconds),
  }),
  api: (plane) => ({
    FAIRLEAD_API_LISTEN: listen(plane, plane.ports.api),
    FAIRLEAD_PUBLIC_URL: `https://${reached(plane, plane.ports.api)}`,
    FAIRLEAD_API_SERVING_NAMES: servingNames(plane),
    FAIRLEAD_DOORS: doors(plane, 'door'),
    FAIRLEAD_CLUSTER_DOMAIN: CLUSTER_DOMAIN,
    FAIRLEAD_CONNECT_DOORS: doors(plane, 'connect'),
    // Nobody balances it.
    FAIRLEAD_API_GRACE_SECONDS: '0',
  }),
};

function doors(plane: ControlPlane, kind: 'door' | 'connect'): string {
  return plane.gateways
    .map((name, index) => `${name}=https://${reached(plane, gatewayPorts(plane, index)[kind])}`)
    .join(',');
}

export function gatewayEnvironment(plane: ControlPlane, index: number): Environment {
  const ports = gatewayPorts(plane, index);
  const name = plane.gateways[index] ?? '';
  const environment = {
    ...processEnvironment(plane, name, ports.health),
    ...allocatorEnvironment(),
    ...gatewayListens(plane, ports),
    FAIRLEAD_LINK_ENDPOINTS: linkEndpoints(plane).join(','),
    FAIRLEAD_RELAY_ADDRESS: at(ports.relay),
    FAIRLEAD_GATEWAY_SERVING_NAMES: doorNames(plane),
    FAIRLEAD_CLUSTER_DOMAIN: CLUSTER_DOMAIN,
    FAIRLEAD_AUDIT_SPOOL_DIR: plane.state.file('audit-spools', name),
    FAIRLEAD_ZONE: 'dev',
    FAIRLEAD_LEASE_SECONDS: String(plane.leaseSeconds),
    FAIRLEAD_DEBUG_VIEW: 'true',
    // Nobody balances these, unless a test does.
    FAIRLEAD_DOOR_GRACE_SECONDS: '0',
    ...plane.env.gateway,
    ...plane.gatewayEnv?.[name],
  };
  return Object.fromEntries(
    Object.entries(environment).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
}

/** All that its row names; other replicas are on this machine. */
function gatewayListens(plane: ControlPlane, ports: PortPlan['gateways'][number]): Environment {
  const { relay, ...others } = SERVICES.gateway.listens;
  const names = Object.keys(others) as (keyof typeof others)[];
  return {
    [relay.setting]: at(ports.relay),
    ...Object.fromEntries(names.map((name) => [others[name].setting, listen(plane, ports[name])])),
  };
}

export function databaseUrlFile(state: StateDir, service: string): string {
  return state.file('secrets', `database-${service}.url`);
}

export function adminTokenFile(state: StateDir): string {
  return state.file('secrets', 'admin-token');
}

function databaseEnvironment({ state, databaseUrl }: ControlPlane, service: string): Environment {
  const { caFile } = trustOf(state, databaseUrl);
  const trust: Environment = caFile === undefined ? {} : { FAIRLEAD_DATABASE_CA_FILE: caFile };
  return { FAIRLEAD_DATABASE_URL_FILE: databaseUrlFile(state, service), ...trust };
}

function processEnvironment(plane: ControlPlane, credential: string, healthPort: number): Environment {
  const { caFile } = trustOf(plane.state, plane.natsUrl);
  return {
    ...baseEnvironment(),
    FAIRLEAD_NATS_URL: plane.natsUrl,
    ...(caFile === undefined ? {} : { FAIRLEAD_NATS_CA_FILE: caFile }),
    FAIRLEAD_NATS_SEED_FILE: seedFile(plane.state, credential),
    FAIRLEAD_CREDENTIAL: credential,
    FAIRLEAD_LOG_LEVEL: plane.logLevel,
    FAIRLEAD_HEALTH_LISTEN: at(healthPort),
  };
}

/** What agents dial. */
export function linkEndpoints(plane: Pick<ControlPlane, 'advertise' | 'ports'>): readonly string[] {
  return plane.ports.gateways.map(({ link }) => reached(plane, link));
}

const isLocal = (host: string): boolean => host === '127.0.0.1' || host === 'localhost';

/** `host:port` as seen from elsewhere. */
function reached({ advertise }: Pick<ControlPlane, 'advertise'>, port: number): string {
  return `${advertise}:${port}`;
}

/** What has to be reached from elsewhere listens everywhere; the relay and the health ports never do. */
function listen({ advertise }: Pick<ControlPlane, 'advertise'>, port: number): string {
  return isLocal(advertise) ? at(port) : `0.0.0.0:${port}`;
}

function servingNames({ advertise }: Pick<ControlPlane, 'advertise'>): string {
  return isLocal(advertise) ? LOCAL_NAMES : `${LOCAL_NAMES},${advertise}`;
}

function doorNames(plane: Pick<ControlPlane, 'advertise'>): string {
  return `${servingNames(plane)},*.${CLUSTER_DOMAIN}`;
}

function gatewayPorts(plane: ControlPlane, index: number): PortPlan['gateways'][number] {
  const ports = plane.ports.gateways[index];
  if (!ports) throw new RangeError(`there is no gateway number ${index}`);
  return ports;
}
