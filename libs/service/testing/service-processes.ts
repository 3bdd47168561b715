import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Holder } from '@fairlead/messaging';
import { startSecuredNats, type SecuredNats } from '@fairlead/messaging/testing';
import { databaseUrl, provisionDatabase } from '@fairlead/persistence';
import { freePort, startPostgres, type PostgresInfo, type Running } from '@fairlead/testbed';
import { eventually, scratchDir, type ScratchDir } from '@fairlead/testing';

export const ADMIN_TOKEN = 'an-admin-token-of-more-than-32-characters';
/** What several processes that start at once take on a busy machine. */
const PATIENCE = { timeoutMs: 60_000 };

/** A service, or a command of it, as a process. */
export interface ServiceProcess {
  readonly child: ChildProcess;
  /** Everything it wrote. */
  output(): string;
  /** With its exit code, or null if a signal ended it. */
  readonly exited: Promise<number | null>;
}

export interface Readiness {
  readonly ready: boolean;
  readonly checks: readonly { readonly name: string; readonly ok: boolean }[];
}

type Environments<Service> = ReadonlyMap<Service, NodeJS.ProcessEnv>;

/** Services as processes, with a Postgres and a NATS of their own, as an installation has them. */
export interface ServiceProcesses<Service extends string> extends AsyncDisposable {
  readonly scratch: ScratchDir;
  readonly postgres: Running<PostgresInfo>;
  readonly nats: SecuredNats;
  /** What each is started with. */
  readonly environments: Environments<Service>;
  /** Of their database accounts. */
  readonly passwords: readonly string[];
  /** By `start`, the last one of each. */
  readonly started: ReadonlyMap<Service, ServiceProcess>;
  start(service: Service): void;
  /** One that ends by itself: a command, or a service that is set up wrongly. */
  readonly run: (service: Service, args?: readonly string[], overrides?: NodeJS.ProcessEnv) => ServiceProcess;
  /** Two processes at once run its migrations; gives back how they exited. */
  migrate(service: Service): Promise<(number | null)[]>;
  /** What it says of itself, on the address of its probes. */
  readiness(service: Service): Promise<Readiness>;
  metrics(service: Service): Promise<string>;
  untilReady(service: Service): Promise<void>;
  untilAllReady(): Promise<void>;
}

/** Nothing of the services is started yet. They need to have been built. */
export async function serviceProcesses<Service extends string>(
  services: readonly Service[],
): Promise<ServiceProcesses<Service>> {
  await using parts = new AsyncDisposableStack();
  const scratch = parts.use(await scratchDir());
  const postgres = parts.use(
    await startPostgres({ dataDir: scratch.file('pg'), durable: false, log: () => undefined }),
  );
  const nats = parts.use(await startSecuredNats(scratch.path));
  const accounts = services.map((service) => ({ service, password: `a-password-of-${service}-0123456789` }));
  await provisionDatabase(postgres.info.adminUrl, { services: accounts });
  const environments = new Map<Service, NodeJS.ProcessEnv>();
  for (const account of accounts)
    environments.set(account.service, await environment({ scratch, postgres, nats }, account));
  const started = new Map<Service, ServiceProcess>();
  parts.defer(() => killAll(started.values()));
  const run: ServiceProcesses<Service>['run'] = (service, args = [], overrides = {}) =>
    spawnService(service, args, { ...environments.get(service), ...overrides });
  const owned = parts.move();
  return {
    scratch,
    postgres,
    nats,
    environments,
    passwords: accounts.map(({ password }) => password),
    started,
    start: (service) => void started.set(service, run(service)),
    run,
    migrate: async (service) => {
      const migrations = [run(service, ['migrate']), run(service, ['migrate'])];
      return Promise.all(migrations.map(({ exited }) => exited));
    },
    ...probesOf(services, environments),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

type Probes<Service extends string> = Pick<
  ServiceProcesses<Service>,
  'readiness' | 'metrics' | 'untilReady' | 'untilAllReady'
>;

function probesOf<Service extends string>(
  services: readonly Service[],
  environments: Environments<Service>,
): Probes<Service> {
  const ask = (service: Service, path: string): Promise<Response> => {
    const address = environments.get(service)?.['FAIRLEAD_HEALTH_LISTEN'];
    return fetch(`http://${address}${path}`, { signal: AbortSignal.timeout(10_000) });
  };
  const readiness = async (service: Service): Promise<Readiness> =>
    (await (await ask(service, '/readyz')).json()) as Readiness;
  const untilReady = (service: Service): Promise<void> =>
    eventually(async () => {
      const said = await readiness(service);
      if (!said.ready) throw new Error(`${service}: ${JSON.stringify(said)}`);
    }, PATIENCE);
  return {
    readiness,
    metrics: async (service) => (await ask(service, '/metrics')).text(),
    untilReady,
    untilAllReady: async () => void (await Promise.all(services.map(untilReady))),
  };
}

async function environment(
  { scratch, postgres, nats }: Pick<ServiceProcesses<string>, 'scratch' | 'postgres' | 'nats'>,
  account: { service: string; password: string },
): Promise<NodeJS.ProcessEnv> {
  const { service } = account;
  const secret = async (name: string, text: string): Promise<string> => {
    const path = scratch.file(`${service}-${name}`);
    await writeFile(path, text, { mode: 0o600 });
    return path;
  };
  return {
    PATH: process.env['PATH'],
    FAIRLEAD_NATS_URL: nats.server.info.url,
    FAIRLEAD_NATS_SEED_FILE: nats.seedFile({ role: service, credential: service } as Holder),
    FAIRLEAD_HEALTH_LISTEN: `127.0.0.1:${await freePort()}`,
    FAIRLEAD_DATABASE_URL_FILE: await secret('url', databaseUrl(postgres.info.adminUrl, account)),
    FAIRLEAD_MASTER_KEY_FILE: scratch.file('master.key'),
    FAIRLEAD_GATEWAY_SERVING_NAMES: 'localhost,127.0.0.1',
    FAIRLEAD_LINK_ENDPOINTS: '127.0.0.1:7443',
    FAIRLEAD_AGENT_IMAGE: `registry.example.test/agent@sha256:${'0f'.repeat(32)}`,
    FAIRLEAD_INSTALLER_IMAGE: `registry.example.test/installer@sha256:${'0f'.repeat(32)}`,
    FAIRLEAD_ADMIN_TOKEN_FILE: await secret('admin', ADMIN_TOKEN),
  };
}

function spawnService(service: string, args: readonly string[], env: NodeJS.ProcessEnv): ServiceProcess {
  const main = fileURLToPath(new URL(`../../../apps/${service}/dist/bundle/main.js`, import.meta.url));
  const child = spawn(process.execPath, [main, ...args], { env });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  // Its last words come after it has ended, and before its streams have.
  const exited = once(child, 'close').then(([code]) => code as number | null);
  return { child, output: () => output, exited };
}

async function killAll(processes: Iterable<ServiceProcess>): Promise<void> {
  for (const { child, exited } of processes) {
    child.kill('SIGKILL');
    await exited;
  }
}
