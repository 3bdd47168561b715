import { commaList, hostPort, loadConfig, port } from '@fairlead/config';
import { z } from 'zod';

const Environment = z.object({
  /** Whose desired state counts. */
  FAIRLEAD_CLUSTER_ID: z.uuid(),
  FAIRLEAD_TRUST_DOMAIN: z
    .string()
    .regex(/^[a-z0-9._-]{1,255}$/, 'expected lower-case letters, digits, dots, dashes and underscores'),
  /** Of the roots that count until a signed trust bundle says otherwise: the current one, and the next. */
  FAIRLEAD_ROOT_PINS: commaList.pipe(
    z.array(z.string().regex(/^[0-9a-f]{64}$/, 'expected SHA-256 in hexadecimal')).min(1),
  ),
  /** The installer's own, which is the agent's. */
  FAIRLEAD_NAMESPACE: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'expected the name of a namespace')
    .default('fairlead-system'),
  /** Outside of a cluster; in one, the service account is used. */
  KUBECONFIG: z.string().optional(),
  FAIRLEAD_SERVICE_ACCOUNT_DIR: z.string().default('/var/run/secrets/kubernetes.io/serviceaccount'),
  KUBERNETES_SERVICE_HOST: z.string().optional(),
  KUBERNETES_SERVICE_PORT: port.default(443),
  /** How often a cluster that nobody touched is looked at. */
  FAIRLEAD_INTERVAL_SECONDS: z.coerce.number().min(0.1).max(3_600).default(10),
  /** How often the tool is asked whether it still works, and what it has to answer. */
  FAIRLEAD_FUNCTIONAL_EVERY_SECONDS: z.coerce.number().min(0.1).max(3_600).default(60),
  FAIRLEAD_FUNCTIONAL_ANSWER_SECONDS: z.coerce.number().min(0.1).max(3_600).default(90),
  /** What pods have to become ready, before more is done than to wait for them. */
  FAIRLEAD_SETTLE_SECONDS: z.coerce.number().min(0.1).max(3_600).default(120),
  /** What its network policy lets it dial: hosts on these ports are looked at before they are needed. None: none is. */
  FAIRLEAD_PREFLIGHT_PORTS: commaList
    .transform((ports) => ports.map(Number))
    .pipe(z.array(z.int().min(1).max(65_535)))
    .default([]),
  /** Is one set? Nothing is dialled through it, so what it says is not kept: it may have a password in it. */
  HTTPS_PROXY: z
    .string()
    .default('')
    .transform((proxy) => proxy !== ''),
  FAIRLEAD_HEALTH_LISTEN: hostPort,
  FAIRLEAD_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
});

export type InstallerConfig = z.output<typeof Environment>;

/** Reads the environment; throws one error that lists everything wrong with it. */
export function readConfig(env: NodeJS.ProcessEnv): InstallerConfig {
  return loadConfig(Environment, { ...env, HTTPS_PROXY: env['HTTPS_PROXY'] ?? env['https_proxy'] });
}
