import { createHash } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import { connect } from 'node:tls';
import type { AuditRecord, AuditedPassage } from '@fairlead/contracts';
import { eventually, scratchDir, testAuthority, type ScratchDir } from '@fairlead/testing';
import { startRecordingApiServer, type RecordingApiServer } from '@fairlead/tunnel/testing';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { auditStream, passagesIn } from './audited-passages.js';
import { clientCertificate } from './connect-client.js';
import { callDoor, untilAnswered, type DoorCall } from './kube-client.js';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';

const PATIENT = { timeoutMs: 60_000 };
const PODS = '/clusters/demo/api/v1/namespaces/shop/pods';
const HEAD = 'apiVersion: audit.fairlead.dev/v1\nkind: Policy\n';
const QUIET = `${HEAD}rules:\n- {name: quiet, level: None, users: [corp:robot], namespaces: [shop]}\n`;
const LOUD = `${HEAD}rules: []\n`;

let scratch: ScratchDir;
let installation: TestInstallation;
let api: RecordingApiServer;
let replica: Replica;
let reader: NatsConnection;
let robot: string;

beforeAll(async () => {
  scratch = await scratchDir();
  installation = await startInstallation();
  api = await startRecordingApiServer(installation.authority);
  reader = await installation.nats.connectReader();
  await putRules(QUIET);
  replica = await installation.startReplica('gateway-a', {
    audit: {
      dir: scratch.file('spool'),
      maxBytes: 8 * 1024 ** 2,
      policy: 'best-effort',
      rulesFile: scratch.file('rules.yaml'),
      lookEveryMs: 100,
    },
  });
  await installation.startAgent({ replicas: [replica], apiPort: api.port });
  api.handle = (request, response) => {
    response.statusCode = request.url?.includes('forbidden') ? 403 : 200;
    response.end('{}');
  };
  robot = await installation.addLogin('corp:robot', {
    groups: ['corp:bots'],
    sessionEndsAt: new Date(Date.now() + 3_600_000),
  });
  await installation.putGrants({ kind: 'user', name: 'corp:robot' }, { groups: ['fairlead:edit'] });
  await untilAnswered(installation, replica);
  await untilAnswered(installation, replica, { token: robot, path: `${PODS}/warm` }, PATIENT);
});
afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
  await scratch?.[Symbol.asyncDispose]();
});

/** At once, as Kubernetes changes a mounted ConfigMap. */
async function putRules(text: string): Promise<void> {
  await writeFile(scratch.file('next.yaml'), text);
  await rename(scratch.file('next.yaml'), scratch.file('rules.yaml'));
}
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const asRobot = (call: DoorCall) => callDoor(installation, replica, { token: robot, ...call });
const recorded = (): Promise<AuditRecord[]> => auditStream(reader, 'gateway-a');
const named = async (...names: string[]): Promise<AuditedPassage[]> =>
  passagesIn(await recorded()).filter(({ resource }) => names.includes(resource?.name ?? ''));
const rulesSaid = async (): Promise<unknown[]> =>
  (await recorded()).flatMap((record) =>
    record.phase === 'rules' ? [[record.state, record.hash, record.previousHash]] : [],
  );

/** All that was told before it is there once this is. */
async function markEnd(name: string): Promise<void> {
  await callDoor(installation, replica, { path: `${PODS}/${name}` });
  await eventually(async () => expect(await named(name)).toHaveLength(1), PATIENT);
}

it('what a rule leaves out is not on record, but what was refused is, and the administrator', async () => {
  await asRobot({ path: `${PODS}/left-out` });
  await asRobot({ method: 'PUT', path: `${PODS}/left-out`, body: '{}' });
  await asRobot({ path: `${PODS}/forbidden` });
  await asRobot({
    path: PODS.replace('shop', 'other') + '/elsewhere?limit=5&token=hunter2',
    headers: ['User-Agent', 'robot/1'],
  });
  await callDoor(installation, replica, { path: `${PODS}/by-admin` });
  await markEnd('end-0');
  const found = await named('left-out', 'forbidden', 'elsewhere', 'by-admin');
  expect(found.map(({ resource, status }) => [resource?.name, status])).toEqual([
    ['forbidden', 403],
    ['elsewhere', 200],
    ['by-admin', 200],
  ]);
  expect(found[1]).toMatchObject({
    ingress: 'gateway-a',
    owner: 'gateway-a',
    session: expect.stringMatching(/./) as string,
    identity: { name: 'corp:robot', groups: ['corp:bots'], session: expect.stringMatching(/-/) as string },
    grantIds: [expect.stringMatching(/-/)],
    requestUri: '/api/v1/namespaces/other/pods/elsewhere?limit=5&token=_',
    userAgent: 'robot/1',
    traceId: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
  });
  expect(await rulesSaid()).toEqual([['in-force', hashOf(QUIET), null]]);
  const metric = await replica.registry.getSingleMetric('fairlead_gateway_audit_left_out_total')?.get();
  expect(metric?.values).toMatchObject([{ labels: { rule: 'quiet' } }]);
});

it('rules are read anew, broken ones change nothing, and the log says both', async () => {
  const broken = `${HEAD}rules: nonsense`;
  await putRules(broken);
  await eventually(
    async () => expect(await rulesSaid()).toContainEqual(['refused', hashOf(broken), hashOf(QUIET)]),
    PATIENT,
  );
  const refused = await replica.registry.getSingleMetric('fairlead_gateway_audit_rules_refused')?.get();
  expect(refused?.values[0]?.value).toBe(1);
  await asRobot({ path: `${PODS}/still-quiet` });
  await putRules(LOUD);
  await eventually(
    async () => expect(await rulesSaid()).toContainEqual(['in-force', hashOf(LOUD), hashOf(QUIET)]),
    PATIENT,
  );
  await eventually(async () => {
    await asRobot({ path: `${PODS}/loud` });
    expect((await named('loud')).length).toBeGreaterThan(0);
  }, PATIENT);
  expect(await named('still-quiet')).toEqual([]);
  expect(await rulesSaid()).toHaveLength(3);
});

it('handshakes that are refused leave their exact number, by TLS or by the door, which holds them', async () => {
  const other = await testAuthority();
  const foreign = await clientCertificate(other, crypto.randomUUID());
  const knock = async (certificate: object): Promise<void> => {
    const socket = connect({
      port: replica.gateway.connect?.port ?? 0,
      host: '127.0.0.1',
      ca: [...installation.authority.roots],
      ...certificate,
    });
    socket.on('error', () => undefined).resume();
    await new Promise((resolve) => socket.once('close', resolve));
  };
  const [without, withForeign] = [30, 12].map((times) => Array.from({ length: times }));
  await Promise.all((without ?? []).map(() => knock({})));
  await Promise.all((withForeign ?? []).map(() => knock(foreign)));
  await eventually(async () => {
    const sums = (await recorded()).flatMap((record) => (record.phase === 'handshakes' ? [record] : []));
    const countOf = (isMissing: boolean): number =>
      sums
        .filter(({ cause }) => (cause === 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE') === isMissing)
        .reduce((sum, { count }) => sum + count, 0);
    expect([countOf(true), countOf(false)]).toEqual([30, 12]);
    expect(sums.every(({ door, addresses }) => door === 'connect' && addresses[0]?.address === '127.0.0.1')).toBe(true);
  }, PATIENT);
});
