import { baseEnvironment } from '../process/base-environment.js';
import type { PortPlan } from '../state/port-plan.js';
import type { StateDir } from '../state/state-dir.js';
import { seedFile } from './nats-credentials.js';

export const TRUST_DOMAIN = 'fairlead.local';
/** Nothing pulls it: the demo's agent runs from this repository. */
const AGENT_IMAGE = 'fairlead/agent:dev';
const LOCAL_NAMES = '127.0.0.1,localhost';

/** What the environments of all services depend on. */
export interface ControlPlane {
  readonly state: StateDir;
  readonly ports: PortPlan;
  readonly gateways: readonly string[];
  readonly natsUrl: string;
  readonly logLevel: string;
  readonly leaseSeconds: number;
}

type Environment = Readonly<Record<string, string>>;

export const at = (port: number): string => `127.0.0.1:${port}`;

export function registrationEnvironment(plane: ControlPlane): Environment {
  return {
    ...serviceEnvironment(plane, 'registration', plane.ports.registrationHealth),
    FAIRLEAD_DATABASE_URL_FILE: databaseUrlFile(plane.state, 'registration'),
    FAIRLEAD_LINK_ENDPOINTS: linkEndpoints(plane),
    FAIRLEAD_AGENT_IMAGE: AGENT_IMAGE,
    FAIRLEAD_ADMIN_TOKEN_FILE: adminTokenFile(plane.state),
  };
}

export function keysEnvironment(plane: ControlPlane): Environment {
  return {
    ...serviceEnvironment(plane, 'keys', plane.ports.keysHealth),
    FAIRLEAD_DATABASE_URL_FILE: databaseUrlFile(plane.state, 'keys'),
    FAIRLEAD_MASTER_KEY_FILE: plane.state.file('secrets', 'master.key'),
    FAIRLEAD_TRUST_DOMAIN: TRUST_DOMAIN,
    FAIRLEAD_SERVING_NAMES: LOCAL_NAMES,
  };
}

export function apiEnvironment(plane: ControlPlane): Environment {
  const doors = plane.gateways.map((name, index) => `${name}=https://${at(gatewayPorts(plane, index).door)}`);
  return {
    ...serviceEnvironment(plane, 'api', plane.ports.apiHealth),
    FAIRLEAD_API_LISTEN: at(plane.ports.api),
    FAIRLEAD_PUBLIC_URL: `https://${at(plane.ports.api)}`,
    FAIRLEAD_SERVING_NAMES: LOCAL_NAMES,
    FAIRLEAD_DOORS: doors.join(','),
  };
}

export function gatewayEnvironment(plane: ControlPlane, index: number): Environment {
  const { door, link, relay, health } = gatewayPorts(plane, index);
  return {
    ...serviceEnvironment(plane, plane.gateways[index] ?? '', health),
    FAIRLEAD_LINK_LISTEN: at(link),
    FAIRLEAD_LINK_ENDPOINTS: linkEndpoints(plane),
    FAIRLEAD_RELAY_LISTEN: at(relay),
    FAIRLEAD_RELAY_ADDRESS: at(relay),
    FAIRLEAD_DOOR_LISTEN: at(door),
    FAIRLEAD_SERVING_NAMES: LOCAL_NAMES,
    FAIRLEAD_ZONE: 'dev',
    FAIRLEAD_LEASE_SECONDS: String(plane.leaseSeconds),
  };
}

export function databaseUrlFile(state: StateDir, service: string): string {
  return state.file('secrets', `database-${service}.url`);
}

export function adminTokenFile(state: StateDir): string {
  return state.file('secrets', 'admin-token');
}

function serviceEnvironment(plane: ControlPlane, credential: string, healthPort: number): Environment {
  return {
    ...baseEnvironment(),
    FAIRLEAD_NATS_URL: plane.natsUrl,
    FAIRLEAD_NATS_SEED_FILE: seedFile(plane.state, credential),
    FAIRLEAD_CREDENTIAL: credential,
    FAIRLEAD_LOG_LEVEL: plane.logLevel,
    FAIRLEAD_HEALTH_LISTEN: at(healthPort),
  };
}

function linkEndpoints(plane: ControlPlane): string {
  return plane.ports.gateways.map(({ link }) => at(link)).join(',');
}

function gatewayPorts(plane: ControlPlane, index: number): PortPlan['gateways'][number] {
  const ports = plane.ports.gateways[index];
  if (!ports) throw new RangeError(`there is no gateway number ${index}`);
  return ports;
}
