import type { Bucket } from './buckets.js';

/** A bucket, and which of its keys if not all; `{credential}` stands for the name of the NATS credential. */
export type KeysOf = Bucket | readonly [bucket: Bucket, keys: string];

export function bucketOf(keysOf: KeysOf): Bucket {
  return typeof keysOf === 'string' ? keysOf : keysOf[0];
}

/** What a process may do on NATS besides the RPCs that it calls and answers: those follow from the contracts. */
interface NatsRights {
  /** Whether it publishes events. */
  readonly events: boolean;
  /** Whether it hands on what it has spooled for the audit. */
  readonly audits?: boolean;
  /** Streams of which it asks for the next message of the consumer named like the role, and acknowledges it. The operator lays the consumer out. */
  readonly consumes?: readonly Stream[];
  /** Whether it makes the consumers of subscribers on the stream of events. */
  readonly subscribers?: boolean;
  /** Whether nats-server asks it whom to let in as a subscriber, and cuts off whom it says. */
  readonly admits?: boolean;
  readonly writes: readonly KeysOf[];
  readonly reads: readonly KeysOf[];
}

/** `audit`: what spools hand on. `events`: what was told. */
export type Stream = 'audit' | 'events';

interface ListenPort {
  /** Where it listens in its pod; on one machine its first replica does, counted from port base 7000. */
  readonly port: number;
  /** The setting that says so. */
  readonly setting: `FAIRLEAD_${string}_LISTEN`;
}

/** What is known of one process of the control plane outside its own code. */
interface ServiceRow {
  /** How a list of ports names it. */
  readonly title: string;
  /** `service`: a Nest service, which answers RPCs and owns the schema of its name. `edge`: people or agents dial it. */
  readonly tier: 'service' | 'edge';
  /** Its health server on one machine, like `ListenPort.port`. In a pod it is `POD_HEALTH_PORT`. */
  readonly healthPort: number;
  /** What it listens on besides, by the name of the port. */
  readonly listens: Readonly<Record<string, ListenPort>>;
  readonly nats: NatsRights;
  /** Files of its Secret besides `nats.seed` and, of a service, `database.url`; each with the setting that names the file. */
  readonly secrets: Readonly<Record<string, `FAIRLEAD_${string}_FILE`>>;
  /** Settings of the installation that it reads besides those of every process. */
  readonly settings: readonly string[];
}

export const POD_HEALTH_PORT = 8_080;

const EVERY_PROCESS = ['FAIRLEAD_NATS_URL', 'FAIRLEAD_NATS_CA_FILE', 'FAIRLEAD_LOG_LEVEL', 'FAIRLEAD_HEALTH_LISTEN'];

/** Settings of the installation that every process of a tier reads. */
export const COMMON_SETTINGS: Readonly<Record<ServiceRow['tier'], readonly string[]>> = {
  edge: EVERY_PROCESS,
  service: [...EVERY_PROCESS, 'FAIRLEAD_DATABASE_CA_FILE'],
};

/**
 * Every process of the control plane. The name is its folder in `apps/`, its workload and values in `charts/fairlead`, its role on NATS, its schema and its
 * image. Roles, NATS permissions, database roles, what a stack starts, what is bundled and `charts/fairlead/files/services.json` are made from
 * this; the rest of the chart and the Dockerfile are checked against it. A new one: docs/recipes/add-a-service.md.
 */
export const SERVICES = {
  access: {
    title: 'the access service',
    tier: 'service',
    healthPort: 7_076,
    listens: {},
    nats: { events: true, writes: ['access', 'grants'], reads: ['access', 'grants', 'clusters'] },
    secrets: { 'admin-token': 'FAIRLEAD_ADMIN_TOKEN_FILE' },
    settings: [],
  },
  api: {
    title: 'the admin API',
    tier: 'edge',
    healthPort: 7_073,
    listens: { https: { port: 7_070, setting: 'FAIRLEAD_API_LISTEN' } },
    // It asks others, and they tell.
    nats: { events: false, writes: [], reads: [] },
    secrets: {},
    settings: [
      'FAIRLEAD_PUBLIC_URL',
      'FAIRLEAD_DOORS',
      'FAIRLEAD_CONNECT_DOORS',
      'FAIRLEAD_CLUSTER_DOMAIN',
      'FAIRLEAD_PROXY_PROTOCOL_FROM',
      'FAIRLEAD_API_SERVING_NAMES',
    ],
  },
  audit: {
    title: 'the audit service',
    tier: 'service',
    healthPort: 7_077,
    listens: {},
    // Heartbeats say which gateways are there, so that what one began and cannot end any more is known.
    nats: {
      events: true,
      consumes: ['audit', 'events'],
      subscribers: true,
      writes: ['subscribers'],
      reads: ['subscribers', ['routes', 'gateway.>']],
    },
    secrets: {},
    settings: [],
  },
  gateway: {
    title: 'a gateway',
    tier: 'edge',
    healthPort: 7_446,
    listens: {
      door: { port: 7_443, setting: 'FAIRLEAD_DOOR_LISTEN' },
      link: { port: 7_444, setting: 'FAIRLEAD_LINK_LISTEN' },
      relay: { port: 7_445, setting: 'FAIRLEAD_RELAY_LISTEN' },
      connect: { port: 7_447, setting: 'FAIRLEAD_CONNECT_LISTEN' },
    },
    nats: {
      events: true,
      audits: true,
      writes: [
        ['routes', 'gateway.{credential}.>'],
        ['routes', 'session.{credential}.>'],
      ],
      reads: [
        'routes',
        'clusters',
        'access',
        'grants',
        'clients',
        'revocations',
        'statementRevocations',
        'trust',
        'desired',
      ],
    },
    secrets: {},
    settings: [
      'FAIRLEAD_LINK_ENDPOINTS',
      'FAIRLEAD_GATEWAY_SERVING_NAMES',
      'FAIRLEAD_CLUSTER_DOMAIN',
      'FAIRLEAD_PROXY_PROTOCOL_FROM',
      'OTEL_EXPORTER_OTLP_ENDPOINT',
    ],
  },
  gitops: {
    title: 'the gitops service',
    tier: 'service',
    healthPort: 7_075,
    listens: {},
    nats: { events: true, writes: ['desired'], reads: ['desired', 'clusters', 'gitHosts'] },
    secrets: {},
    settings: [],
  },
  keys: {
    title: 'the keys service',
    tier: 'service',
    healthPort: 7_072,
    listens: {},
    nats: {
      events: true,
      admits: true,
      writes: ['revocations', 'statementRevocations', 'trust', 'gitHosts'],
      // Heartbeats say which trust bundle a replica holds; who is connected is none of its business. Clusters say which enrolment counts.
      reads: [
        'revocations',
        'statementRevocations',
        'trust',
        'gitHosts',
        'clusters',
        'subscribers',
        ['routes', 'gateway.>'],
      ],
    },
    secrets: { 'master.key': 'FAIRLEAD_MASTER_KEY_FILE' },
    settings: ['FAIRLEAD_TRUST_DOMAIN', 'FAIRLEAD_API_SERVING_NAMES', 'FAIRLEAD_GATEWAY_SERVING_NAMES'],
  },
  registration: {
    title: 'registration',
    tier: 'service',
    healthPort: 7_071,
    listens: {},
    nats: {
      events: true,
      writes: ['clusters', 'clients'],
      reads: ['routes', 'clusters', 'clients'],
    },
    secrets: {},
    settings: [
      'FAIRLEAD_LINK_ENDPOINTS',
      'FAIRLEAD_AGENT_IMAGE',
      'FAIRLEAD_INSTALLER_IMAGE',
      'FAIRLEAD_AGENT_SERVER_NAME',
      'FAIRLEAD_AGENT_TRACING_ENDPOINT',
    ],
  },
} as const satisfies Readonly<Record<string, ServiceRow>>;

type Rows = typeof SERVICES;

/** Who may hold a NATS credential. The credential's name tells holders of one role apart (gateway-a, gateway-b). */
export type Role = keyof Rows;
/** Those that answer RPCs, each with a schema of its name. */
export type Service = { [R in Role]: Rows[R] extends { readonly tier: 'service' } ? R : never }[Role];
/** Those of which a machine or a cluster needs one address only: their NATS credential is named like the role. */
export type Singleton = Exclude<Role, 'gateway'>;

export const ROLES = Object.keys(SERVICES) as readonly Role[];
export const SERVICE_NAMES = ROLES.filter((role): role is Service => SERVICES[role].tier === 'service');
export const SINGLETONS = ROLES.filter((role): role is Singleton => role !== 'gateway');

/** The row of a role, as one type. */
export function rowOf(role: Role): ServiceRow {
  return SERVICES[role];
}
