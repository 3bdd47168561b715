import { commaList, hostPort, loadConfig, port, secretFile } from '@fairlead/config';
import { CredentialName, SERVICE_NAMES, type Service } from '@fairlead/contracts';
import { z } from 'zod';

const NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;
const dnsNames = commaList.pipe(z.array(z.string().regex(NAME, 'expected DNS names')).min(1).max(16));
const log = { FAIRLEAD_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error']).default('info') };

const wanted = {
  /** `secrets`, `volumes`: credentials of the gateways. */
  FAIRLEAD_GATEWAYS: commaList.pipe(z.array(CredentialName).min(1).max(64)),
  /** `secrets`, `volumes`: DNS names that the processes reach NATS by. */
  FAIRLEAD_NATS_NAMES: dnsNames,
  /** `secrets`, `volumes`: the same of Postgres; services dial the first. */
  FAIRLEAD_POSTGRES_NAMES: dnsNames,
} as const;

const SecretsEnvironment = z.object({
  ...log,
  /** `secrets`: where it makes Secrets. */
  FAIRLEAD_NAMESPACE: z.string().regex(NAME, 'expected the name of a namespace'),
  ...wanted,
  FAIRLEAD_SERVICE_ACCOUNT_DIR: z.string().default('/var/run/secrets/kubernetes.io/serviceaccount'),
  KUBERNETES_SERVICE_HOST: z.string().min(1),
  KUBERNETES_SERVICE_PORT: port,
});

const uid = z.coerce.number().int().min(1).max(4_294_967_294);

const VolumesEnvironment = z.object({
  ...log,
  ...wanted,
  /** `volumes`: the folder with `secrets/<name>`, `config/<name>` and `data/<name>`, each a volume. */
  FAIRLEAD_VOLUMES_DIR: z.string().startsWith('/').default('/volumes'),
  /** `volumes`: the user, and group, that the processes and nats-server run as. */
  FAIRLEAD_PROCESS_UID: uid.default(65_532),
  /** `volumes`: the same of Postgres. */
  FAIRLEAD_POSTGRES_UID: uid,
});

const ServersEnvironment = z.object({
  ...log,
  /** `servers`. */
  FAIRLEAD_NATS_URL: z.string().min(1),
  /** `servers`: PEM of the CA of NATS' and Postgres' certificates. */
  FAIRLEAD_NATS_CA_FILE: z.string().min(1),
  /** `servers`: nkey seed of the operator, 0600. */
  FAIRLEAD_NATS_SEED_FILE: z.string().min(1),
  /** `servers`: `host:port`. */
  FAIRLEAD_POSTGRES_ADDRESS: hostPort,
  /** `servers`: of the user `postgres`, 0600. */
  FAIRLEAD_POSTGRES_PASSWORD_FILE: secretFile,
  /** `servers`: a folder with `<service>.database.url` of each service, 0600. */
  FAIRLEAD_DATABASE_URL_DIR: z.string().min(1),
});

export type SecretsConfig = z.output<typeof SecretsEnvironment>;
export type VolumesConfig = z.output<typeof VolumesEnvironment>;
export type ServersConfig = z.output<typeof ServersEnvironment>;

/** Throws INVALID_ARGUMENT that lists every problem. */
export function readSecretsConfig(env: NodeJS.ProcessEnv): SecretsConfig {
  return loadConfig(SecretsEnvironment, env);
}

/** Throws INVALID_ARGUMENT that lists every problem. */
export function readVolumesConfig(env: NodeJS.ProcessEnv): VolumesConfig {
  return loadConfig(VolumesEnvironment, env);
}

/** Throws INVALID_ARGUMENT that lists every problem. */
export function readServersConfig(env: NodeJS.ProcessEnv): ServersConfig {
  return loadConfig(ServersEnvironment, env);
}

/** What each service connects with, out of the folder. Throws INVALID_ARGUMENT that names what is missing, or readable by others. */
export function readDatabaseUrls(dir: string): Readonly<Record<Service, string>> {
  const shape = Object.fromEntries(SERVICE_NAMES.map((service) => [service, secretFile]));
  const files = Object.fromEntries(SERVICE_NAMES.map((service) => [service, `${dir}/${service}.database.url`]));
  const secrets = loadConfig(z.object(shape), files);
  const urls = SERVICE_NAMES.map((service) => [service, secrets[service]!.reveal()] as const);
  return Object.fromEntries(urls) as Record<Service, string>;
}
