import { UserNames } from '@fairlead/access-rules';
import { Secret, commaList, dnsDomain, hostPort, loadConfig, tracingVariables } from '@fairlead/config';
import { LINK_SERVER_NAME, parseEgressPort, parseEndpoint, type Endpoint, type ProxySettings } from '@fairlead/agent';
import { messageOf } from '@fairlead/errors';
import { isRegion } from '@fairlead/pki';
import { parseTargetRule } from '@fairlead/targets';
import { z } from 'zod';
import { readProxyCredentials } from './proxy-credentials.js';

/** Every one that cannot be read is named. */
const listOf = <T>(parse: (text: string) => T) =>
  commaList.transform((texts, context) =>
    texts.map((text) => {
      try {
        return parse(text);
      } catch (error) {
        context.addIssue({ code: 'custom', message: messageOf(error) });
        return z.NEVER;
      }
    }),
  );

const Environment = z.object({
  ...tracingVariables,
  FAIRLEAD_ENDPOINTS: commaList.pipe(z.array(hostPort).min(1)),
  /** What it calls gateways in TLS (SNI), for a load balancer that tells by it where to: the same for all agents, so that it tells nothing. Who a gateway is, its certificate says, whatever this is. */
  FAIRLEAD_SERVER_NAME: dnsDomain.default(LINK_SERVER_NAME),
  /** Where it is: endpoints of this region are dialled first. Absent: what its nodes' label `topology.kubernetes.io/region` says. */
  FAIRLEAD_REGION: z.string().refine(isRegion, 'expected lower-case letters, digits and dashes').optional(),
  FAIRLEAD_ROOT_PINS: commaList
    .pipe(z.array(z.string().regex(/^[0-9a-f]{64}$/, 'expected SHA-256 in hexadecimal')))
    .default([]),
  /** Whose gateways it enrols with, and nobody else's below the same root. */
  FAIRLEAD_TRUST_DOMAIN: z
    .string()
    .regex(/^[a-z0-9._-]{1,255}$/, 'expected lower-case letters, digits, dots, dashes and underscores')
    .optional(),
  /** Which cluster it is, from the import manifest: it takes no other cluster's identity. */
  FAIRLEAD_CLUSTER_ID: z.uuid().optional(),
  FAIRLEAD_LINKS: z.coerce.number().int().min(1).max(4).default(2),
  /** Without a token, ask to be adopted and wait for an administrator; needs root pins. */
  FAIRLEAD_ADOPTION: z.stringbool().default(false),
  /** Nobody reaches the kube-apiserver without an access statement, whatever a gateway says. */
  FAIRLEAD_REQUIRE_STATEMENTS: z.stringbool().default(false),
  /** How the kube-apiserver is told who a request is of: `user`, by the user name; `extra`, as an extra of one fixed user. The manifest's RBAC goes with it. */
  FAIRLEAD_USER_NAMES: UserNames.default('user'),
  /** May name a file that does not exist: an enrolled agent needs no token. */
  FAIRLEAD_BOOTSTRAP_TOKEN_FILE: z.string().optional(),
  /** An identity that was handed out, as `fairlead identity issue` writes it. May name a file that does not exist. */
  FAIRLEAD_IDENTITY_BUNDLE_FILE: z.string().optional(),
  /** `secret:<namespace>/<name>` in a cluster, `file:<path>` elsewhere. */
  FAIRLEAD_IDENTITY: z
    .string()
    .regex(/^(secret:[a-z0-9.-]+\/[a-z0-9.-]+|file:.+)$/, 'expected secret:<namespace>/<name> or file:<path>'),
  /** Where the installer's ConfigMaps are; default the namespace of the identity's Secret, and none with a file. */
  FAIRLEAD_HANDOVER_NAMESPACE: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'expected a namespace')
    .optional(),
  /** Name of the Deployment that it is a pod of, and of the Lease by which its pods agree who carries desired state, in the namespace of the identity's Secret. */
  FAIRLEAD_WORKLOAD: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, 'expected the name of a Deployment')
    .default('fairlead-agent'),
  /** How long what runs through an agent that is told to end may go on. */
  FAIRLEAD_DRAIN_SECONDS: z.coerce.number().int().min(0).max(3_600).default(20),
  FAIRLEAD_SERVICE_ACCOUNT_DIR: z.string().default('/var/run/secrets/kubernetes.io/serviceaccount'),
  KUBERNETES_SERVICE_HOST: z.string(),
  KUBERNETES_SERVICE_PORT: z.coerce.number().int().min(1).max(65_535),
  /** May hold the proxy's password. */
  HTTPS_PROXY: z
    .url({ protocol: /^https?$/ })
    .transform((url) => new Secret(url))
    .optional(),
  NO_PROXY: commaList.default([]),
  /** Holds the proxy's `username` and `password`, a file each, as a mounted Secret does; read before each dial. */
  FAIRLEAD_PROXY_CREDENTIALS_DIR: z.string().optional(),
  /** What raw TCP targets it opens; none, nothing. */
  FAIRLEAD_ALLOW_TARGETS: listOf(parseTargetRule).default([]),
  /** Ports for connections out of the cluster, `<port>=<host>:<port>`; none, none. Gateways have to allow what they lead to. */
  FAIRLEAD_EGRESS: listOf(parseEgressPort).default([]),
  /** Address of those ports; default all of the machine's. */
  FAIRLEAD_EGRESS_ADDRESS: z.union([z.ipv4(), z.ipv6()]).optional(),
  /** How often it looks at its cluster, to say what changed: nodes, versions, rights. */
  FAIRLEAD_FACTS_REFRESH_SECONDS: z.coerce.number().int().min(1).max(86_400).default(600),
  FAIRLEAD_HEALTH_LISTEN: hostPort,
  FAIRLEAD_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
});

export type AgentConfig = z.output<typeof Environment>;

/** Reads the environment; throws one error that lists everything wrong with it. Lower-case proxy variables count too. */
export function readConfig(env: NodeJS.ProcessEnv): AgentConfig {
  const proxies = {
    HTTPS_PROXY: env['HTTPS_PROXY'] ?? env['https_proxy'],
    NO_PROXY: env['NO_PROXY'] ?? env['no_proxy'],
  };
  return loadConfig(Environment, { ...env, ...proxies });
}

/** Gateways are dialled through it. */
export function proxyOf(config: AgentConfig): ProxySettings {
  const { HTTPS_PROXY: url, FAIRLEAD_PROXY_CREDENTIALS_DIR: dir } = config;
  return {
    ...(url ? { httpsProxy: url.reveal() } : {}),
    noProxy: config.NO_PROXY,
    ...(dir === undefined ? {} : { credentials: () => readProxyCredentials(dir) }),
  };
}

/** The gateways, and what they are called in TLS. */
export function endpointsOf({ FAIRLEAD_ENDPOINTS, FAIRLEAD_SERVER_NAME: serverName }: AgentConfig): Endpoint[] {
  return FAIRLEAD_ENDPOINTS.map((endpoint) => ({ ...parseEndpoint(endpoint), serverName }));
}
