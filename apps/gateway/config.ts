import { commaList, dnsDomain, hostPort, loadConfig, networkList, tracingVariables } from '@fairlead/config';
import { messageOf } from '@fairlead/errors';
import { parseEgressRule, type AuditSettings, type GatewayOptions } from '@fairlead/gateway';
import { credentialOf, processSettings } from '@fairlead/service/process';
import { z } from 'zod';

const countUpTo = (most: number, otherwise: number) => z.coerce.number().int().min(1).max(most).default(otherwise);
const connections = (otherwise: number) => countUpTo(1_000_000, otherwise);
const perSecond = (otherwise: number) => countUpTo(100_000, otherwise);
const mebibytes = (otherwise: number) => countUpTo(1_048_576, otherwise);

/** What each door takes in; PROTOCOL.md says what happens beyond. Twice a rate may come at once. */
const Limits = z.object({
  FAIRLEAD_CONNECT_MAX_CONNECTIONS: connections(10_000),
  FAIRLEAD_CONNECT_MAX_PER_CLIENT: connections(4_096),
  FAIRLEAD_CONNECT_MAX_PER_CLUSTER: connections(8_192),
  FAIRLEAD_CONNECT_MAX_WAITING_PER_CLIENT: connections(512),
  FAIRLEAD_CONNECT_OPENS_PER_SECOND_PER_CLIENT: perSecond(2_000),
  FAIRLEAD_CONNECT_OPENS_PER_SECOND_PER_CLUSTER: perSecond(4_000),
  FAIRLEAD_KUBE_API_MAX_REQUESTS: connections(50_000),
  FAIRLEAD_KUBE_API_MAX_CONNECTIONS_PER_USER: connections(4_000),
  FAIRLEAD_KUBE_API_MAX_PER_USER: connections(20_000),
  FAIRLEAD_KUBE_API_MAX_PER_CLUSTER: connections(8_192),
  FAIRLEAD_KUBE_API_REQUESTS_PER_SECOND_PER_USER: perSecond(2_000),
  FAIRLEAD_KUBE_API_REQUESTS_PER_SECOND_PER_CLUSTER: perSecond(4_000),
  /** Bytes taken in and not passed on yet: beyond them nothing new is let in. */
  FAIRLEAD_HELD_MIB: mebibytes(512),
  FAIRLEAD_HELD_MIB_PER_IDENTITY: mebibytes(256),
  FAIRLEAD_HELD_MIB_PER_CLUSTER: mebibytes(384),
});

const Environment = z
  .object({
    ...Limits.shape,
    ...tracingVariables,
    ...processSettings,
    FAIRLEAD_CREDENTIAL: credentialOf('gateway'),
    FAIRLEAD_HEALTH_LISTEN: hostPort,
    /** Agents dial this. */
    FAIRLEAD_LINK_LISTEN: hostPort,
    /** Other replicas dial this, at FAIRLEAD_RELAY_ADDRESS. */
    FAIRLEAD_RELAY_LISTEN: hostPort,
    FAIRLEAD_RELAY_ADDRESS: hostPort.optional(),
    /** kubectl dials this. */
    FAIRLEAD_DOOR_LISTEN: hostPort,
    /** Programs with a client certificate dial this; absent: no such door. */
    FAIRLEAD_CONNECT_LISTEN: hostPort.optional(),
    /** Load balancers, as addresses or blocks of them (CIDR): each connection from there, to any port but the health listener, has to begin with a header of the PROXY protocol, version 2, and is its client's from then on. None: a header is believed of nobody. */
    FAIRLEAD_PROXY_PROTOCOL_FROM: networkList.default([]),
    /** A client of the CONNECT door that ended its direction and takes nothing for this long is gone. */
    FAIRLEAD_CONNECT_STALL_SECONDS: z.coerce.number().min(1).max(3_600).default(120),
    /** A replica that stops goes on accepting at its doors for so long: until a load balancer saw that it is not ready. */
    FAIRLEAD_DOOR_GRACE_SECONDS: z.coerce.number().min(0).max(300).default(3),
    /** Names in the certificate of the doors, which `keys` signs; not needed with files of one's own. */
    FAIRLEAD_GATEWAY_SERVING_NAMES: commaList.default([]),
    /** Below which each cluster has a host name at the Kubernetes API door; the doors' certificate covers `*.` of it. Absent: clusters are told by the path only. */
    FAIRLEAD_CLUSTER_DOMAIN: dnsDomain.optional(),
    /** A certificate of one's own for the doors, PEM, leaf first; read again when the files change. */
    FAIRLEAD_DOOR_TLS_CERT_FILE: z.string().optional(),
    FAIRLEAD_DOOR_TLS_KEY_FILE: z.string().optional(),
    /** What connections out of clusters may reach on this side, `<host or block>:<ports>`, and before it whose clusters: `<cluster>@`, `<label>=<value>@` or `*@`, of `default` unless `<tenant>:` comes first; none, nothing. */
    FAIRLEAD_EGRESS_ALLOW: commaList
      .transform((texts, context) =>
        texts.map((text) => {
          try {
            return parseEgressRule(text);
          } catch (error) {
            context.addIssue({ code: 'custom', message: messageOf(error) });
            return z.NEVER;
          }
        }),
      )
      .default([]),
    FAIRLEAD_LINK_ENDPOINTS: commaList,
    FAIRLEAD_ZONE: z.string().max(63).default(''),
    /** Clusters with a label of their own in metrics; the others are "other". */
    FAIRLEAD_METRICS_CLUSTERS: z.coerce.number().int().min(0).max(10_000).default(50),
    /** Shows live sessions and connections on the health listener, to everybody who reaches it. */
    FAIRLEAD_DEBUG_VIEW: z
      .enum(['true', 'false'])
      .default('false')
      .transform((text) => text === 'true'),
    /** A directory of this gateway alone, where it keeps what goes through its doors until JetStream has it; absent: there is no audit. */
    FAIRLEAD_AUDIT_SPOOL_DIR: z.string().min(1).optional(),
    /** What the spool may take of its disk. */
    FAIRLEAD_AUDIT_SPOOL_BYTES: z.coerce
      .number()
      .int()
      .min(8 * 1024 ** 2)
      .max(1024 ** 4)
      .default(256 * 1024 ** 2),
    /** `required`: what may change something is let go on only once that is on this gateway's disk. `best-effort`: what cannot be kept is counted. */
    FAIRLEAD_AUDIT: z.enum(['required', 'best-effort']).default('best-effort'),
    /** What of it is put on record, by rules: docs/audit.md. Absent: all of it. Read again when it changes. */
    FAIRLEAD_AUDIT_RULES_FILE: z.string().min(1).optional(),
    FAIRLEAD_LEASE_SECONDS: z.coerce.number().min(1).max(300).default(15),
  })
  .refine((env) => !env.FAIRLEAD_DOOR_TLS_CERT_FILE || env.FAIRLEAD_DOOR_TLS_KEY_FILE, {
    path: ['FAIRLEAD_DOOR_TLS_KEY_FILE'],
  })
  .refine((env) => !env.FAIRLEAD_DOOR_TLS_KEY_FILE || env.FAIRLEAD_DOOR_TLS_CERT_FILE, {
    path: ['FAIRLEAD_DOOR_TLS_CERT_FILE'],
  })
  .refine((env) => env.FAIRLEAD_DOOR_TLS_CERT_FILE || env.FAIRLEAD_GATEWAY_SERVING_NAMES.length > 0, {
    path: ['FAIRLEAD_GATEWAY_SERVING_NAMES'],
  })
  .refine(
    (env) =>
      (env.FAIRLEAD_AUDIT !== 'required' && env.FAIRLEAD_AUDIT_RULES_FILE === undefined) ||
      env.FAIRLEAD_AUDIT_SPOOL_DIR !== undefined,
    { path: ['FAIRLEAD_AUDIT_SPOOL_DIR'] },
  )
  .superRefine((env, context) => {
    const why = whyNoHostNames(env);
    if (why !== null) context.addIssue({ code: 'custom', path: ['FAIRLEAD_GATEWAY_SERVING_NAMES'], message: why });
  });

/** Why the doors' certificate would not do for clusters with host names of their own; null if it does, or if its files say. */
function whyNoHostNames(env: {
  readonly FAIRLEAD_CLUSTER_DOMAIN?: string | undefined;
  readonly FAIRLEAD_GATEWAY_SERVING_NAMES: readonly string[];
  readonly FAIRLEAD_DOOR_TLS_CERT_FILE?: string | undefined;
}): string | null {
  const { FAIRLEAD_CLUSTER_DOMAIN: domain, FAIRLEAD_GATEWAY_SERVING_NAMES: names } = env;
  if (domain === undefined || env.FAIRLEAD_DOOR_TLS_CERT_FILE) return null;
  const lower = names.map((name) => name.toLowerCase());
  const taken = lower.find((name) => name.endsWith(`.${domain}`) && name !== `*.${domain}`);
  if (taken !== undefined) return `${taken} would be a cluster's name: it is below FAIRLEAD_CLUSTER_DOMAIN`;
  return lower.includes(`*.${domain}`) ? null : `must list *.${domain}, for FAIRLEAD_CLUSTER_DOMAIN`;
}

export type GatewayConfig = z.output<typeof Environment>;

/** What people see at the doors. */
export function doorCertificate(config: GatewayConfig): GatewayOptions['doorCertificate'] {
  const { FAIRLEAD_DOOR_TLS_CERT_FILE: certFile, FAIRLEAD_DOOR_TLS_KEY_FILE: keyFile } = config;
  return certFile && keyFile ? { certFile, keyFile } : { names: config.FAIRLEAD_GATEWAY_SERVING_NAMES };
}

/** Where this gateway keeps its audit; undefined: nowhere. */
export function auditSettings(config: GatewayConfig): AuditSettings | undefined {
  const { FAIRLEAD_AUDIT_SPOOL_DIR: dir, FAIRLEAD_AUDIT_SPOOL_BYTES: maxBytes, FAIRLEAD_AUDIT: policy } = config;
  const { FAIRLEAD_AUDIT_RULES_FILE: rulesFile, FAIRLEAD_CREDENTIAL: replica } = config;
  return dir === undefined ? undefined : { dir, maxBytes, policy, rulesFile, replica };
}

/** Reads the environment; throws one error that lists everything wrong with it. */
export function readConfig(env: NodeJS.ProcessEnv): GatewayConfig {
  return loadConfig(Environment, env);
}
