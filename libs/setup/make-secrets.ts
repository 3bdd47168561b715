import { randomBytes } from 'node:crypto';
import { SERVICE_NAMES, SINGLETONS, rowOf, type Singleton } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { createNkey, natsAuthorization, natsUser } from '@fairlead/messaging';
import { databaseAccess, databaseUrl } from '@fairlead/persistence';
import type { Authority } from '@fairlead/pki';
import { holdersOf } from './nats-holders.js';
import type { Files, ObjectStore } from './object-store.js';
import { createInfrastructureAuthority, issueServerCertificate } from './server-certificates.js';

/** What is to be there, by names of the chart `charts/fairlead`. */
export interface SetupPlan {
  /** Names of the gateways' credentials, which are those of their Secrets. */
  readonly gateways: readonly string[];
  /** DNS names that the processes reach the servers by; services dial the first one of Postgres. */
  readonly natsNames: readonly string[];
  readonly postgresNames: readonly [string, ...string[]];
}

const SEED = 'nats.seed';
const named = (what: string): string => `fairlead-${what}`;

interface SecretSpec {
  readonly secret: string;
  readonly make: () => Files | Promise<Files>;
}

/**
 * Makes the Secrets and ConfigMaps that are missing, and tells which Secrets it made. A Secret that is there is never changed; one that lacks
 * a file fails with CONFLICT, which names both. What NATS lets whom do follows from public keys and the contracts, and is written anew.
 */
export async function makeSecrets(store: ObjectStore, plan: SetupPlan, now: Date = new Date()): Promise<string[]> {
  const made: string[] = [];
  const once = async ({ secret, make }: SecretSpec): Promise<Files> => {
    const present = await store.readSecret(secret);
    // Also where there is one: it tells which files belong in it.
    const desired = await make();
    if (present !== null) return checked(secret, present, Object.keys(desired));
    await store.createSecret(secret, desired);
    made.push(secret);
    return desired;
  };
  const authority = await makeAuthority(store, once, now);
  await makeServers(once, authority, plan, now);
  const seeds = new Map<string, string>();
  for (const { role, credential } of holdersOf(plan.gateways)) {
    const secret = named(role === 'gateway' ? credential.replace(/^fairlead-/, '') : secretOf(role));
    const files = await once({ secret, make: () => ({ ...newSeed(), ...ownFiles(role, plan) }) });
    seeds.set(credential, files[SEED]!);
  }
  await store.putConfigMap(named('servers'), {
    'nats-authorization.conf': authorization(plan.gateways, seeds),
    'pg_hba.conf': databaseAccess({ services: SERVICE_NAMES }),
  });
  return made;
}

type Once = (spec: SecretSpec) => Promise<Files>;

async function makeAuthority(store: ObjectStore, once: Once, now: Date): Promise<Authority> {
  const secret = named('infrastructure-ca-key');
  const make = async (): Promise<Files> => {
    const { certificatePem, privateKeyPem } = await createInfrastructureAuthority(now);
    return { 'tls.crt': certificatePem, 'tls.key': privateKeyPem };
  };
  const { 'tls.crt': certificatePem = '', 'tls.key': privateKeyPem = '' } = await once({ secret, make });
  await store.putConfigMap(named('infrastructure-ca'), { 'infrastructure-ca.crt': certificatePem });
  return { certificatePem, privateKeyPem };
}

async function makeServers(once: Once, authority: Authority, plan: SetupPlan, now: Date): Promise<void> {
  // A Secret that is there is never changed, and nobody would notice one that is about to end: it ends with the CA.
  const certificateFor = (names: readonly string[]) => async (): Promise<Files> => {
    const { certificatePem, privateKeyPem } = await issueServerCertificate(authority, names, now, 'as long as its CA');
    return { 'tls.crt': certificatePem, 'tls.key': privateKeyPem };
  };
  await once({ secret: named('nats-server'), make: certificateFor(plan.natsNames) });
  await once({ secret: named('postgres-server'), make: certificateFor(plan.postgresNames) });
  await once({ secret: named('postgres-admin'), make: () => ({ password: randomSecret() }) });
}

const secretOf = (role: string): string => (role === 'operator' ? 'nats-operator' : role);

const newSeed = (): Files => ({ [SEED]: createNkey().seed });

/** What a process has besides its seed. */
function ownFiles(role: string, { postgresNames: [host] }: SetupPlan): Files {
  const singleton = SINGLETONS.find((each): each is Singleton => each === role);
  if (singleton === undefined) return {};
  const { tier, secrets } = rowOf(singleton);
  const own = Object.keys(secrets).map((file) => [file, SECRETS[file]?.() ?? randomSecret()] as const);
  if (tier !== 'service') return Object.fromEntries(own);
  const server = `postgres://${host}:5432/postgres?sslmode=verify-full`;
  const url = databaseUrl(server, { service: singleton, password: randomSecret() });
  return { 'database.url': url, ...Object.fromEntries(own) };
}

/** Files of Secrets that are not any secret text. */
const SECRETS: Readonly<Record<string, () => string>> = {
  'master.key': () => randomBytes(32).toString('base64'),
};

function authorization(gateways: readonly string[], seeds: ReadonlyMap<string, string>): string {
  return natsAuthorization(holdersOf(gateways).map((holder) => natsUser(holder, seeds.get(holder.credential)!)));
}

function checked(secret: string, present: Files, desired: readonly string[]): Files {
  const missing = desired.filter((file) => !present[file]);
  if (missing.length === 0) return present;
  throw new FairleadError(
    'CONFLICT',
    `the Secret ${secret} is there and has no ${missing.join(', ')}: add it, or delete the Secret if nothing depends on it`,
  );
}

/** 256 random bits that a URL takes unescaped. */
export function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}
