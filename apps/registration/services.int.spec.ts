import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import {
  DEFAULT_TENANT,
  Issuer,
  NO_TENANT,
  accessRpc,
  keysRpc,
  registrationRpc,
  rpcSubject,
} from '@fairlead/contracts';
import { EVENT_STREAM, createRpcClient, type RpcClient } from '@fairlead/messaging';
import { startTestIssuer } from '@fairlead/oidc/testing';
import { createCsr, generatePrivateKey, parseToken, verifyChain } from '@fairlead/pki';
import { ADMIN_TOKEN, serviceProcesses, type ServiceProcesses } from '@fairlead/service/testing';
import { eventually as poll, signalIfThere } from '@fairlead/testing';
import { jetstreamManager } from '@nats-io/jetstream';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { parseAllDocuments } from 'yaml';

const SERVICES = ['keys', 'registration', 'access'] as const;
type Service = (typeof SERVICES)[number];
const api = { role: 'api', credential: 'api' } as const;
const gateway = { role: 'gateway', credential: 'gateway-a' } as const;
const otherGateway = { role: 'gateway', credential: 'gateway-b' } as const;

// Starting nine processes on a busy machine takes its time.
vi.setConfig({ testTimeout: 180_000 });
const eventually = <T>(attempt: () => T | Promise<T>): Promise<T> => poll(attempt, { timeoutMs: 60_000 });

let services: ServiceProcesses<Service>;
let asApi: RpcClient;
let asGateway: RpcClient;

beforeAll(async () => {
  services = await serviceProcesses(SERVICES);
  asApi = createRpcClient(await services.nats.connect(api), api);
  asGateway = createRpcClient(await services.nats.connect(gateway), gateway);
});
afterAll(() => services?.[Symbol.asyncDispose]());

const newCsr = async (): Promise<string> => Buffer.from(await createCsr(await generatePrivateKey())).toString('base64');

it('says what is wrong with the configuration, once, and exits with 2', async () => {
  const { scratch, environments, run } = services;
  const cases: [Service, NodeJS.ProcessEnv, RegExp][] = [
    ['keys', { FAIRLEAD_NATS_URL: '', FAIRLEAD_TRUST_DOMAIN: 'Not A Domain' }, /NATS_URL: is not set\n.*TRUST_DOMAIN/],
    ['registration', { FAIRLEAD_LINK_ENDPOINTS: 'nonsense' }, /LINK_ENDPOINTS.*host:port/],
    ['access', { FAIRLEAD_ADMIN_TOKEN_FILE: environments.get('keys')!['FAIRLEAD_NATS_URL'] }, /ADMIN_TOKEN_FILE/],
    ['keys', { FAIRLEAD_NATS_SEED_FILE: '/no/such/file' }, /seed file/],
  ];
  await writeFile(scratch.file('short'), 'short', { mode: 0o600 });
  cases.push(['access', { FAIRLEAD_ADMIN_TOKEN_FILE: scratch.file('short') }, /at least 32 characters/]);
  await writeFile(scratch.file('elsewhere'), 'postgres://keys:x@192.0.2.1/fairlead', { mode: 0o600 });
  const elsewhere = { FAIRLEAD_DATABASE_URL_FILE: scratch.file('elsewhere') };
  cases.push(
    ['keys', { FAIRLEAD_NATS_URL: 'nats://192.0.2.1' }, /plain text to 192.0.2.1: set FAIRLEAD_NATS_CA_FILE/],
    ['keys', { FAIRLEAD_NATS_CA_FILE: '/no/such/file' }, /cannot read the CA file/],
    ['registration', elsewhere, /plain text to 192.0.2.1: set FAIRLEAD_DATABASE_CA_FILE/],
  );
  for (const [service, overrides, message] of cases) {
    const process = run(service, [], overrides);
    expect(await process.exited).toBe(2);
    expect(process.output()).toMatch(message);
    expect(process.output()).not.toMatch(/\n\s+at /);
  }
  const unknown = run('keys', ['frobnicate']);
  expect([await unknown.exited, unknown.output()]).toEqual([2, expect.stringContaining('there is no command')]);
});

it('waits visibly for NATS, Postgres and the migrations, then serves', async () => {
  const { nats, postgres } = services;
  nats.server.kill('SIGKILL');
  postgres.kill('SIGKILL');
  for (const service of SERVICES) services.start(service);
  const says = (event: string): Promise<void> =>
    eventually(() => expect(services.started.get('keys')?.output()).toContain(event));
  await says('nats.unreachable');
  await nats.server.restart();
  await says('database.unreachable');
  await postgres.restart();
  await says('migrations.pending');
  expect((await services.readiness('keys')).ready).toBe(false);
  for (const service of SERVICES) expect(await services.migrate(service)).toEqual([0, 0]);
  await services.untilAllReady();
  expect((await stat(services.scratch.file('master.key'))).mode & 0o777).toBe(0o600);
});

it('logs somebody in by an issuer, and out', async () => {
  await using issuer = await startTestIssuer();
  const audience = 'fairlead';
  const definition = Issuer.parse({ name: 'corp', kind: 'oidc', url: issuer.url, audience, prefix: 'corp:' });
  await asApi.call(accessRpc.putIssuer, DEFAULT_TENANT, { ...definition, by: 'admin' });
  const options = await asApi.call(accessRpc.listLoginOptions, DEFAULT_TENANT, {});
  expect(options.issuers).toMatchObject([{ name: 'corp', clientId: audience, deviceCode: false }]);
  const nonceVerifier = 'v'.repeat(43);
  const nonce = createHash('sha256').update(nonceVerifier).digest('base64url');
  const token = await issuer.sign({ aud: audience, nonce, groups: ['ops'] });
  const login = await asApi.call(accessRpc.exchangeToken, NO_TENANT, { issuer: 'corp', token, nonceVerifier });
  const tokenHash = createHash('sha256').update(login.token).digest('base64');
  const principal = await asApi.call(accessRpc.authenticate, NO_TENANT, { tokenHash });
  expect(principal).toMatchObject({ kind: 'login', user: 'corp:alice', groups: [], administrator: false });
  expect(principal.subjectGroups).toEqual(['corp:ops']);
  const again = asApi.call(accessRpc.exchangeToken, NO_TENANT, { issuer: 'corp', token, nonceVerifier });
  await expect(again).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  await asApi.call(accessRpc.endLogin, NO_TENANT, { tokenId: principal.tokenId });
  await expect(asApi.call(accessRpc.authenticate, NO_TENANT, { tokenHash })).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
  });
  const { items } = await asApi.call(accessRpc.listUsers, DEFAULT_TENANT, {});
  expect(items).toMatchObject([{ name: 'corp:alice', issuer: 'corp', groups: ['corp:ops'] }]);
  await asApi.call(accessRpc.removeIssuer, DEFAULT_TENANT, { name: 'corp', by: 'admin' });
  expect(await asApi.call(accessRpc.listIssuers, DEFAULT_TENANT, {})).toEqual({ issuers: [] });
  for (const service of SERVICES) expect(services.started.get(service)?.output()).not.toMatch(/eyJ|fairlead_/);
});

/** A new cluster, and how its agent asks for an identity. */
async function invited(name: string) {
  const cluster = await asApi.call(registrationRpc.createCluster, DEFAULT_TENANT, { name });
  const { code } = await asApi.call(registrationRpc.createImportLink, DEFAULT_TENANT, { name });
  const { manifest } = await asApi.call(registrationRpc.redeemImportLink, NO_TENANT, { code });
  const documents = parseAllDocuments(manifest).map((one) => one.toJS() as { data?: { token?: string } });
  const encoded = documents.find(({ data }) => data?.token)?.data?.token ?? '';
  const token = parseToken(Buffer.from(encoded, 'base64').toString());
  const request = {
    tokenId: token.id,
    secret: Buffer.from(token.secret).toString('base64'),
    csr: await newCsr(),
    facts: { agentVersion: '0.1.0', kubernetesVersion: 'v1.34.4', platform: 'linux/amd64' },
    remoteAddress: '127.0.0.1',
  };
  return { cluster, token, request };
}

it('takes a cluster from its creation to a certificate', async () => {
  const { cluster, token, request } = await invited('demo');
  const enrolled = await asGateway.call(registrationRpc.enrol, NO_TENANT, request);
  const bundle = await asGateway.call(keysRpc.trustBundle, NO_TENANT, {});
  expect(bundle.pins).toEqual([token.pin]);
  const peer = await verifyChain(enrolled.chain, bundle.roots, { at: new Date(), usage: 'clientAuth' });
  expect(peer).toMatchObject({ id: { kind: 'agent', clusterId: cluster.id }, generation: 1 });
  const again = asGateway.call(registrationRpc.enrol, NO_TENANT, { ...request, csr: await newCsr() });
  await expect(again).rejects.toMatchObject({ code: 'TOKEN_USED' });
});

it('counts what it was asked', async () => {
  await eventually(async () => {
    const text = await services.metrics('registration');
    expect(text).toContain('fairlead_rpc_requests_total{method="enrol",code="OK"} 1');
    expect(text).toContain('fairlead_rpc_requests_total{method="enrol",code="TOKEN_USED"} 1');
    expect(text).toContain('fairlead_registration_enrol_seconds_count{by="token"} 1');
    expect(text).toContain('fairlead_outbox_oldest_seconds 0');
  });
  await eventually(async () => {
    const text = await services.metrics('keys');
    expect(text).toMatch(/fairlead_keys_ca_expiry_timestamp_seconds\{tree="identity",role="root"\} \d{10}/);
    expect(text).toContain('fairlead_keys_lapsing_clusters 0');
  });
});

it('tells of a request whose answer would have gone to somebody else', async () => {
  const caller = await services.nats.connect(api);
  const subject = rpcSubject(registrationRpc.deleteCluster, DEFAULT_TENANT, api);
  const packet = JSON.stringify({ id: 'x', pattern: 'x', data: { name: 'demo' } });
  caller.publish(subject, packet, { reply: rpcSubject(registrationRpc.enrol, NO_TENANT, gateway) });
  const operator = await services.nats.connect({ role: 'operator', credential: 'operator' });
  const manager = await jetstreamManager(operator);
  const last = (): Promise<unknown> =>
    manager.streams.getMessage(EVENT_STREAM, { last_by_subj: 'fairlead.events.default.registration.rpc.refused.v1' });
  await eventually(async () => expect(await last()).toBeTruthy());
  await expect(asApi.call(registrationRpc.getCluster, DEFAULT_TENANT, { name: 'demo' })).resolves.toBeDefined();
});

type Enrol = Awaited<ReturnType<typeof invited>>['request'];

/** How often an asked question had which outcome. */
async function outcomesOf(asked: readonly Promise<unknown>[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const result of await Promise.allSettled(asked)) {
    const { code = '', message = '' } =
      result.status === 'rejected' ? (result.reason as Error & { code?: string }) : {};
    const outcome = result.status === 'fulfilled' ? 'OK' : code in FLOODED ? code : `${code}: ${message}`;
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  return counts;
}
const FLOODED = { ENROLMENT_PENDING: 1, RATE_LIMITED: 1, TOKEN_UNKNOWN: 1 };

/** What is asked here is who has a place, not how long a busy machine takes; NATS lets no answer come later. */
const PATIENT_MS = 30_000;

/** A busy machine may have no connection to its database for seconds: who is told so asks again, as agents do. */
async function untilServed<T>(ask: () => Promise<T>, tries = 5): Promise<T> {
  return ask().catch((error: Error & { code?: string }) => {
    if (error.code !== 'UNAVAILABLE' || tries === 1) throw error;
    return untilServed(ask, tries - 1);
  });
}

/** Asks all of it at once; what came of that, and of the questions of others meanwhile. */
async function flood(asked: readonly (readonly [RpcClient, Enrol])[]): Promise<Record<string, number>[]> {
  const tokenHash = createHash('sha256').update(ADMIN_TOKEN).digest('base64');
  const enrol = { ...registrationRpc.enrol, timeoutMs: PATIENT_MS };
  const authenticate = { ...accessRpc.authenticate, timeoutMs: PATIENT_MS };
  const flooding = asked.map(([client, request]) => untilServed(() => client.call(enrol, NO_TENANT, request)));
  const others = Array.from({ length: 50 }, () =>
    untilServed(() => asApi.call(authenticate, NO_TENANT, { tokenHash })),
  );
  return Promise.all([outcomesOf(flooding), outcomesOf(others)]);
}

it('an agent that waits with a token, and asks without end by all gateways, is answered now and then, and takes nobody’s place', async () => {
  const asOtherGateway = createRpcClient(await services.nats.connect(otherGateway), otherGateway);
  const { request } = await invited('waiting');
  await asApi.call(registrationRpc.setApprovalPolicy, DEFAULT_TENANT, { cluster: 'waiting', policy: 'queue' });
  const startedMs = performance.now();
  expect(await outcomesOf([asGateway.call(registrationRpc.enrol, NO_TENANT, request)])).toEqual({
    ENROLMENT_PENDING: 1,
  });
  const [counts, others] = await flood(
    Array.from({ length: 600 }, (_, n) => [n % 2 === 0 ? asGateway : asOtherGateway, request] as const),
  );
  const most = 2 * (10 + Math.ceil((performance.now() - startedMs) / 10_000));
  expect(others).toEqual({ OK: 50 });
  expect(counts).toEqual({ ENROLMENT_PENDING: expect.any(Number), RATE_LIMITED: expect.any(Number) });
  expect(counts?.['ENROLMENT_PENDING']).toBeLessThanOrEqual(most);
  await asApi.call(registrationRpc.deleteCluster, DEFAULT_TENANT, { name: 'waiting' });
});

it('a gateway in wrong hands that asks with ever new keys leaves places to other gateways and everybody else', async () => {
  const asOtherGateway = createRpcClient(await services.nats.connect(otherGateway), otherGateway);
  const { request } = await invited('meanwhile');
  const made = await Promise.all(Array.from({ length: 500 }, async () => ({ ...request, csr: await newCsr() })));
  const unknown = made.map((one) => [asOtherGateway, { ...one, tokenId: 'made-up' }] as const);
  const [counts, others] = await flood([...unknown.slice(0, 400), [asGateway, request], ...unknown.slice(400)]);
  expect(others).toEqual({ OK: 50 });
  expect(counts).toEqual({ OK: 1, RATE_LIMITED: expect.any(Number), TOKEN_UNKNOWN: expect.any(Number) });
  await asApi.call(registrationRpc.deleteCluster, DEFAULT_TENANT, { name: 'meanwhile' });
});

it('comes back by itself after NATS and Postgres were killed, with the same CA and clusters', async () => {
  const before = await asGateway.call(keysRpc.trustBundle, NO_TENANT, {});
  const { nats, postgres } = services;
  nats.server.kill('SIGKILL');
  postgres.kill('SIGKILL');
  await eventually(async () => {
    const { checks } = await services.readiness('registration');
    const failing = checks.filter(({ ok }) => !ok).map(({ name }) => name);
    expect(failing).toEqual(expect.arrayContaining(['nats', 'database']));
  });
  await nats.server.restart();
  await postgres.restart();
  await services.untilAllReady();
  await eventually(async () => expect(await asGateway.call(keysRpc.trustBundle, NO_TENANT, {})).toEqual(before));
  // Each caller comes back in its own time.
  const cluster = await eventually(() => asApi.call(registrationRpc.getCluster, DEFAULT_TENANT, { name: 'demo' }));
  expect(cluster).toMatchObject({ generation: 1, presence: { state: 'offline' } });
  await asGateway.call(keysRpc.signGateway, NO_TENANT, { csr: await newCsr() });
});

/** A process and its children, by id. */
async function processesBelow(parent: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=']);
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/ +/).map(Number));
  return [parent, ...rows.flatMap(([pid = 0, ppid]) => (ppid === parent ? [pid] : []))];
}

it('says that NATS and Postgres hang, though no connection is closed, and is ready again when they go on', async () => {
  const { nats, postgres } = services;
  const failing = async (): Promise<string[]> =>
    (await services.readiness('registration')).checks.filter(({ ok }) => !ok).map(({ name }) => name);
  // Its main process alone would leave those that serve connections.
  const ofPostgres = await processesBelow(postgres.pid!);
  // One that served a connection ends with it, at any moment.
  const signalPostgres = (signal: NodeJS.Signals): void => ofPostgres.forEach((pid) => signalIfThere(pid, signal));
  signalPostgres('SIGSTOP');
  try {
    await eventually(async () => expect(await failing()).toEqual(['database']));
    nats.server.kill('SIGSTOP');
    await eventually(async () => expect(await failing()).toEqual(expect.arrayContaining(['nats', 'database'])));
    expect(await services.metrics('registration')).toContain('fairlead_nats_connected 0');
  } finally {
    nats.server.kill('SIGCONT');
    signalPostgres('SIGCONT');
  }
  await services.untilAllReady();
  expect(await services.metrics('registration')).toContain('fairlead_nats_connected 1');
});

it('stops on SIGTERM, and finds everything again after a restart', async () => {
  const before = await asGateway.call(keysRpc.trustBundle, NO_TENANT, {});
  for (const service of SERVICES) {
    const { child, exited } = services.started.get(service)!;
    child.kill('SIGTERM');
    expect(await exited).toBe(0);
    services.start(service);
  }
  await services.untilAllReady();
  expect(await asGateway.call(keysRpc.trustBundle, NO_TENANT, {})).toEqual(before);
});

it('rotates the root for those who may ask', async () => {
  const before = await asGateway.call(keysRpc.trustBundle, NO_TENANT, {});
  const { id } = await asApi.call(registrationRpc.getCluster, DEFAULT_TENANT, { name: 'demo' });
  const prepared = await asApi.call(keysRpc.rotateCa, NO_TENANT, { step: 'prepare' });
  expect(prepared).toMatchObject({ trustVersion: before.version + 1, rotation: { waitingFor: [{ clusterId: id }] } });
  const activate = (): Promise<unknown> => asApi.call(keysRpc.rotateCa, NO_TENANT, { step: 'activate' });
  await expect(activate()).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining(id) });
  const held = [{ clusterId: id, version: prepared.trustVersion }];
  await asGateway.call(keysRpc.acknowledgeTrust, NO_TENANT, { held });
  await activate();
  const { chain } = await asGateway.call(keysRpc.signGateway, NO_TENANT, { csr: await newCsr() });
  const options = { at: new Date(), usage: 'serverAuth' } as const;
  await expect(verifyChain(chain, before.roots, options)).resolves.toBeDefined();
  await asApi.call(registrationRpc.deleteCluster, DEFAULT_TENANT, { name: 'demo' });
  const { rotation } = await asApi.call(keysRpc.caStatus, NO_TENANT, {});
  expect(rotation).toMatchObject({ step: 'activated', clusters: 0, gateways: [] });
  expect(rotation?.otherCertificates).toBeGreaterThan(0);
  await asApi.call(keysRpc.rotateCa, NO_TENANT, { step: 'retire', force: true });
  await expect(asGateway.call(keysRpc.trustBundle, NO_TENANT, {})).resolves.toMatchObject({
    version: before.version + 3,
    roots: [chain[3]],
  });
});

it('never wrote a secret', async () => {
  const written = [...services.started.values()].map((process) => process.output()).join('\n');
  const seed = await readFile(services.nats.seedFile({ role: 'keys', credential: 'keys' }), 'utf8');
  const masterKey = (await readFile(services.scratch.file('master.key'), 'utf8')).trim();
  for (const secret of [ADMIN_TOKEN, ...services.passwords, seed, masterKey]) {
    expect(written.includes(secret)).toBe(false);
  }
  expect(written).toContain('[secret]');
});
