// The two Jobs of the profile `single`, as the chart starts them: with the account, rights and settings that it renders.
import { X509Certificate } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROLES, SERVICE_NAMES } from '@fairlead/contracts';
import { connectNats } from '@fairlead/messaging';
import { silentLogger } from '@fairlead/observability';
import { connectDatabase, createDatabase } from '@fairlead/persistence';
import { findBinary, startKubernetes, startNats, startPostgres, type KubeInfo, type Running } from '@fairlead/testbed';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { baseEnvironment } from '../process/base-environment.js';
import { runCommand, type CommandOutput } from '../process/run-command.js';
import { REPOSITORY } from '../state/repository.js';
import { NAMESPACE, resourcesOf, type Resource } from './render-chart.js';

const ACCOUNT = `system:serviceaccount:${NAMESPACE}:fairlead-setup`;
const OF_ROLES = ROLES.map((role) => (role === 'gateway' ? 'gateway-a' : role));
const OF_SERVERS = ['infrastructure-ca-key', 'nats-operator', 'nats-server', 'postgres-admin', 'postgres-server'];
const SECRETS = [...OF_ROLES, ...OF_SERVERS].map((name) => `fairlead-${name}`).toSorted();

let scratch: ScratchDir;
let kubernetes: Running<KubeInfo>;
let kubectlPath: string;
let resources: readonly Resource[];

beforeAll(async () => {
  scratch = await scratchDir();
  resources = await resourcesOf('single');
  kubernetes = await startKubernetes({ dataDir: scratch.file('kubernetes') });
  kubectlPath = (await findBinary('kubectl')).path;
  await must(['create', 'namespace', NAMESPACE]);
  const rights = resources.filter(({ metadata }) => metadata.name === 'fairlead-setup');
  await must(['-n', NAMESPACE, 'apply', '-f', '-'], rights.map((each) => stringify(each)).join('---\n'));
  await mkdir(scratch.file('account'));
  await writeFile(scratch.file('account', 'ca.crt'), kubernetes.info.caPem);
  await writeFile(scratch.file('account', 'token'), await must(['-n', NAMESPACE, 'create', 'token', 'fairlead-setup']));
});
afterAll(async () => {
  await kubernetes?.stop();
  await scratch[Symbol.asyncDispose]();
});

function kubectl(args: readonly string[], stdin = ''): Promise<CommandOutput> {
  const env = { ...baseEnvironment(), KUBECONFIG: kubernetes.info.adminKubeconfigPath };
  return runCommand(kubectlPath, args, { env, stdin, timeoutMs: 60_000 });
}

async function must(args: readonly string[], stdin = ''): Promise<string> {
  const { code, stdout, stderr } = await kubectl(args, stdin);
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** Runs what a Job of the chart runs, with its settings and some of the test's. */
function runJob(name: string, given: Readonly<Record<string, string>>): Promise<CommandOutput> {
  const job = resources.find(({ kind, metadata }) => kind === 'Job' && metadata.name.startsWith(name));
  const [{ args = [], env = [] }] = job!.spec!.template!.spec.containers;
  const set = Object.fromEntries(env.map(({ name: key, value = '' }) => [key, value]));
  const [entry = '', ...command] = args;
  const options = { env: { ...baseEnvironment(), ...set, ...given }, timeoutMs: 60_000 };
  return runCommand(process.execPath, [join(REPOSITORY, entry), ...command], options);
}

function makeSecrets(): Promise<CommandOutput> {
  const { hostname, port } = new URL(kubernetes.info.url);
  const local = 'localhost,127.0.0.1';
  return runJob('fairlead-setup-secrets', {
    KUBERNETES_SERVICE_HOST: hostname,
    KUBERNETES_SERVICE_PORT: port,
    FAIRLEAD_SERVICE_ACCOUNT_DIR: scratch.file('account'),
    FAIRLEAD_NATS_NAMES: local,
    FAIRLEAD_POSTGRES_NAMES: local,
  });
}

type Stored = { metadata: { name: string; resourceVersion: string }; data: Readonly<Record<string, string>> };

async function stored(kind: 'secrets' | 'configmaps'): Promise<Stored[]> {
  const { items } = JSON.parse(await must(['-n', NAMESPACE, 'get', kind, '-o', 'json'])) as { items: Stored[] };
  return items.filter(({ metadata }) => metadata.name.startsWith('fairlead-'));
}

async function fileOf(kind: 'secrets' | 'configmaps', object: string, file: string): Promise<string> {
  const value = (await stored(kind)).find(({ metadata }) => metadata.name === object)!.data[file]!;
  return kind === 'secrets' ? Buffer.from(value, 'base64').toString('utf8') : value;
}

const versionsOf = (objects: readonly Stored[]): string[] =>
  objects.map(({ metadata: { name, resourceVersion } }) => `${name} ${resourceVersion}`);

it('makes what is missing, tells no secret, and changes nothing that is there', async () => {
  const first = await makeSecrets();
  expect(first).toMatchObject({ code: 0 });
  const before = await stored('secrets');
  expect(before.map(({ metadata }) => metadata.name)).toEqual(SECRETS);
  for (const { data } of before)
    for (const value of Object.values(data))
      expect(first.stdout + first.stderr).not.toContain(Buffer.from(value, 'base64').toString('utf8').trim());
  expect(await makeSecrets()).toMatchObject({ code: 0 });
  expect(versionsOf(await stored('secrets'))).toEqual(versionsOf(before));
  await must(['-n', NAMESPACE, 'delete', 'secret', 'fairlead-nats-server']);
  expect(await makeSecrets()).toMatchObject({ code: 0 });
  const others = (all: readonly Stored[]): Stored[] =>
    all.filter(({ metadata }) => metadata.name !== 'fairlead-nats-server');
  expect(versionsOf(others(await stored('secrets')))).toEqual(versionsOf(others(before)));
  expect(await stored('secrets')).toHaveLength(SECRETS.length);
});

it('does not mend a Secret that lacks a file, and names both', async () => {
  const [remove, put] = [[{ op: 'remove', path: '/data/master.key' }], 'master.key'];
  const before = await fileOf('secrets', 'fairlead-keys', put);
  const patch = (body: object): Promise<string> =>
    must(['-n', NAMESPACE, 'patch', 'secret', 'fairlead-keys', '--type=json', '-p', JSON.stringify(body)]);
  await patch(remove);
  const { code, stdout } = await makeSecrets();
  expect([code, stdout]).toEqual([1, expect.stringContaining('fairlead-keys is there and has no master.key')]);
  await patch([{ op: 'add', path: '/data/master.key', value: Buffer.from(before).toString('base64') }]);
});

it('may create, and read what it creates; nothing else', async () => {
  const can = async (...asked: string[]): Promise<string> =>
    (await kubectl(['-n', NAMESPACE, 'auth', 'can-i', ...asked, `--as=${ACCOUNT}`])).stdout.trim();
  expect([await can('create', 'secrets'), await can('get', 'secrets/fairlead-keys')]).toEqual(['yes', 'yes']);
  for (const asked of [
    'get secrets/other',
    'list secrets',
    'update secrets/fairlead-keys',
    'delete secrets',
    'create pods',
  ])
    expect([asked, await can(...asked.split(' '))]).toEqual([asked, 'no']);
});

it('sets servers up with what it made, for each service and each gateway', async () => {
  const dir = scratch.file('run');
  await mkdir(dir);
  const put = async (name: string, text: string): Promise<string> => {
    await writeFile(join(dir, name), text, { mode: 0o600 });
    return join(dir, name);
  };
  const caFile = await put('ca.crt', await fileOf('configmaps', 'fairlead-infrastructure-ca', 'infrastructure-ca.crt'));
  const tlsOf = async (server: string) => ({
    caFile,
    certFile: await put(`${server}.crt`, await fileOf('secrets', `fairlead-${server}-server`, 'tls.crt')),
    keyFile: await put(`${server}.key`, await fileOf('secrets', `fairlead-${server}-server`, 'tls.key')),
  });
  const endOf = async (file: string): Promise<number> =>
    new X509Certificate(await readFile(file)).validToDate.getTime();
  // Nobody is told that they end, and nothing renews them.
  for (const server of ['nats', 'postgres'])
    expect(await endOf((await tlsOf(server)).certFile)).toBe(await endOf(caFile));
  const log = (): void => undefined;
  const authorizationConfig = await fileOf('configmaps', 'fairlead-servers', 'nats-authorization.conf');
  await using ending = new AsyncDisposableStack();
  const nats = await startNats({ dataDir: scratch.file('nats'), tls: await tlsOf('nats'), authorizationConfig, log });
  ending.defer(() => nats.stop());
  const accessConfig = await fileOf('configmaps', 'fairlead-servers', 'pg_hba.conf');
  const tls = await tlsOf('postgres');
  const postgres = await startPostgres({ dataDir: scratch.file('pg'), tls, accessConfig, durable: false, log });
  ending.defer(() => postgres.stop());

  const urls = new Map<string, string>();
  for (const service of SERVICE_NAMES) {
    const url = await fileOf('secrets', `fairlead-${service}`, 'database.url');
    await put(`${service}.database.url`, url);
    urls.set(service, url.replace(':5432/', `:${postgres.info.port}/`));
  }
  const done = await runJob('fairlead-setup-servers', {
    FAIRLEAD_NATS_URL: nats.info.url,
    FAIRLEAD_NATS_CA_FILE: caFile,
    FAIRLEAD_NATS_SEED_FILE: await put('operator.seed', await fileOf('secrets', 'fairlead-nats-operator', 'nats.seed')),
    FAIRLEAD_POSTGRES_ADDRESS: `localhost:${postgres.info.port}`,
    // The image makes its administrator with this password; the testbed's server has one of its own.
    FAIRLEAD_POSTGRES_PASSWORD_FILE: await put(
      'password',
      decodeURIComponent(new URL(postgres.info.adminUrl).password),
    ),
    FAIRLEAD_DATABASE_URL_DIR: dir,
  });
  expect(done).toMatchObject({ code: 0 });

  for (const [service, url] of urls) {
    const options = { url, caFile, service, entities: [], migrations: [], logger: silentLogger };
    const database = createDatabase(options);
    await connectDatabase(database, silentLogger, AbortSignal.timeout(30_000));
    expect(await database.query('select current_user as role')).toEqual([{ role: service }]);
    await database.destroy();
  }
  const gateway = await connectNats({
    role: 'gateway',
    credential: 'fairlead-gateway-a',
    url: nats.info.url,
    caFile,
    seedFile: await put('gateway.seed', await fileOf('secrets', 'fairlead-gateway-a', 'nats.seed')),
    logger: silentLogger,
    signal: AbortSignal.timeout(30_000),
  });
  await expect(gateway.flush()).resolves.toBeUndefined();
  await gateway.close();
});
