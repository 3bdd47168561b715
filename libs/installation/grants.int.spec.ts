import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { randomUUID } from 'node:crypto';
import {
  compileRules,
  decide,
  Narrowing,
  readAttributes,
  reviewAccess,
  type ResourceRequest,
} from '@fairlead/access-rules';
import { REQUESTS } from '@fairlead/access-rules/testing';
import { startKubernetes } from '@fairlead/testbed';
import { eventually, scratchDir } from '@fairlead/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { bound, equalRbac } from './equal-rbac.js';
import { fillGrantedCluster, type GrantedCluster, type RoleName } from './granted-cluster.js';
import { callDoor, openDoor, untilAnswered, type DoorAnswer, type DoorCall } from './kube-client.js';
import type { GivenLogin } from './test-directory.js';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';

const owned = new AsyncDisposableStack();
let kube: GrantedCluster;
let installation: TestInstallation;
let replica: Replica;

beforeAll(async () => {
  const scratch = owned.use(await scratchDir());
  const { info } = owned.use(await startKubernetes({ dataDir: scratch.file('kubernetes') }));
  kube = owned.use(await fillGrantedCluster(info.adminKubeconfigPath));
  installation = owned.use(await startInstallation());
  replica = await installation.startReplica('gateway-a');
  await installation.startAgent({ replicas: [replica], apiPort: 1, kubeApi: kube.target });
  await untilAnswered(installation, replica, {});
});
afterAll(() => owned.disposeAsync());

/** `verb group/resource/subresource namespace name` of what the kube-apiserver refuses, or `verb path`, as `REQUESTS` has it; undefined: it does not. */
async function refusedByKube(method: string, path: string): Promise<string | undefined> {
  const { host, port, caPem: ca, clientCertificate } = kube.access;
  const asked = request({
    host,
    port,
    ca,
    method,
    path,
    cert: clientCertificate?.certPem,
    key: clientCertificate?.keyPem,
    headers: { 'impersonate-user': 'nobody', accept: 'application/json' },
  });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  const body = await text(answer);
  if (answer.statusCode !== 403) return undefined;
  const { message, details = {} } = JSON.parse(body) as { message: string; details?: { name?: string } };
  const [, verb = '', rest = ''] = /User "nobody" cannot (\S*) (.*)$/.exec(message) ?? [];
  const url = /^path "(.*)"$/.exec(rest)?.[1];
  if (url !== undefined) return `${verb} ${url}`;
  const [, resource = '', group = '', namespace = ''] =
    /^resource "(.*)" in API group "(.*)" (?:at the cluster scope|in the namespace "(.*)")$/.exec(rest) ?? [];
  const [of = '', below = ''] = resource.split('/');
  const or = (word: string | undefined): string => (word ? word : '-');
  return `${or(verb)} ${or(group)}/${of}/${or(below)} ${or(namespace)} ${or(details.name)}`;
}

it('a request is read as the kube-apiserver reads it', async () => {
  // An answer to HEAD has no words, and discovery is refused to nobody.
  const telling = REQUESTS.filter(([method, , told]) => method !== 'HEAD' && !told.includes(' /'));
  const read = [];
  for (const [method, target] of telling) read.push([method, target, await refusedByKube(method, target)]);
  expect(read).toEqual(telling);
  expect(read.length).toBeGreaterThan(55);
});

const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];
const OF_ONE = new Set(['get', 'update', 'patch', 'delete']);
/** `group/resource/subresource namespace`. */
const RESOURCES = [
  '/pods/ web',
  '/pods/ other',
  '/pods/ ',
  '/pods/log web',
  '/pods/exec web',
  '/pods/attach web',
  '/pods/portforward web',
  '/pods/proxy other',
  '/pods/eviction web',
  '/services/ web',
  '/services/proxy web',
  '/secrets/ web',
  '/secrets/ other',
  '/configmaps/ web',
  '/serviceaccounts/ web',
  '/serviceaccounts/token web',
  '/namespaces/ ',
  '/namespaces/ web',
  '/nodes/ ',
  '/nodes/proxy ',
  'apps/deployments/ web',
  'apps/deployments/scale web',
  'rbac.authorization.k8s.io/rolebindings/ web',
  'rbac.authorization.k8s.io/clusterroles/ ',
  'networking.k8s.io/ingresses/ other',
];
const CASES: readonly ResourceRequest[] = RESOURCES.flatMap((words) => {
  const [apiGroup = '', resource = '', subresource = '', namespace = ''] = words.split(/[/ ]/);
  return VERBS.map((verb) => {
    const name = OF_ONE.has(verb) ? 'settings' : '';
    return { kind: 'resource', verb, apiGroup, resource, subresource, namespace, name };
  });
});
const COUNTS_AS_CREATE = new Set(['exec', 'attach', 'portforward', 'proxy']);

const GRANTS: readonly (readonly [RoleName, Narrowing])[] = [
  ['view', { namespaces: ['web'] }],
  ['edit', { namespaces: ['web'], verbs: ['get', 'list', 'watch'] }],
  ['admin', { resources: ['pods', '*/log', 'secrets', 'deployments', 'pods/exec', 'rolebindings'] }],
  ['cluster-admin', { verbs: ['get', 'list', 'create'], apiGroups: ['', 'apps'] }],
  ['edit', { names: ['settings'], resources: ['pods', 'pods/exec', 'configmaps', '*/scale', '*/proxy'] }],
];

interface Review {
  readonly spec: {
    readonly resourceAttributes: Omit<ResourceRequest, 'kind' | 'apiGroup'> & { readonly group: string };
  };
  readonly status?: { readonly allowed: boolean };
}

describe('200 cases of verb and resource', () => {
  const asRole = new Map<string, Promise<boolean>>();
  const roleAllows = (groups: readonly string[], asked: ResourceRequest): Promise<boolean> => {
    const key = JSON.stringify([groups, asked]);
    const known = asRole.get(key) ?? kube.allows({ user: 'anybody', groups }, asked);
    asRole.set(key, known);
    return known;
  };

  it.each(GRANTS)('%s, narrowed to %j: as RBAC with the equal role decides, and `can-i` says', async (role, given) => {
    expect(CASES).toHaveLength(200);
    const narrowing = Narrowing.parse(given);
    const user = `equal-${randomUUID()}`;
    for (const object of equalRbac(user, kube.rulesOf[role], narrowing)) await kube.objects.create(object);
    const grantId = randomUUID();
    const rules = compileRules([{ grantId, effect: 'allow', groups: [`fairlead:${role}`], narrowing }]);
    const byRbac = async (asked: ResourceRequest): Promise<boolean> => {
      const allows = (verb: string): Promise<boolean> => kube.allows({ user, groups: [] }, { ...asked, verb });
      if (!(await allows(asked.verb))) return false;
      return asked.verb === 'create' || !COUNTS_AS_CREATE.has(asked.subresource) || allows('create');
    };
    const atDoor = async (asked: ResourceRequest): Promise<boolean> => {
      const { allowed, groups } = decide(rules, asked);
      return allowed && roleAllows(groups, asked);
    };
    const byReview = async (asked: ResourceRequest): Promise<boolean> => {
      const { apiGroup: group, kind: _, ...named } = asked;
      const outcome = reviewAccess(rules, JSON.stringify({ spec: { resourceAttributes: { ...named, group } } }));
      const { spec, status } = JSON.parse(outcome.body) as Review;
      if (outcome.kind === 'answered') return status!.allowed;
      const { group: apiGroup, ...rest } = spec.resourceAttributes;
      return roleAllows(outcome.groups, { kind: 'resource', ...rest, apiGroup });
    };
    // What RBAC has learned of the new role it has learned of all of it.
    await eventually(async () => expect(await byRbac(CASES[8 * 13]!)).toBe(await atDoor(CASES[8 * 13]!)));
    const verdicts = await Promise.all(
      CASES.map(async (asked) => {
        const rbac = await byRbac(asked);
        return { asked, rbac, door: await atDoor(asked), canI: await byReview(asked) };
      }),
    );
    expect(verdicts.filter(({ rbac, door, canI }) => rbac !== door || rbac !== canI)).toEqual([]);
  });
});

interface Written {
  readonly method: 'PATCH' | 'PUT';
  readonly path: string;
  readonly type: string;
  readonly body: unknown;
}

/** Asks the kube-apiserver as this user; its status, and what it says. */
async function writeAs(user: string, { method, path, type, body }: Written): Promise<string> {
  const { host, port, caPem: ca, clientCertificate } = kube.access;
  const { certPem: cert, keyPem: key } = clientCertificate!;
  const asked = request({
    host,
    port,
    ca,
    cert,
    key,
    method,
    path,
    headers: { 'impersonate-user': user, 'content-type': type },
  });
  asked.end(JSON.stringify(body));
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  const { message = '' } = JSON.parse(await text(answer)) as { message?: string };
  return `${answer.statusCode} ${/cannot (\w+) resource/.exec(message)?.[1] ?? ''}`.trim();
}

const NEW = { name: 'made', namespace: 'web' };
const APPLY = 'application/apply-patch+yaml';
const JSON_TYPE = 'application/json';
/** What is not there: group, resource, kind, the rest of it, and how a PUT of it by somebody who may update and not create it is answered. */
const MAKING: readonly (readonly [string, string, string, Record<string, unknown>, string])[] = [
  ['', 'configmaps', 'ConfigMap', {}, '404'],
  ['', 'secrets', 'Secret', {}, '404'],
  ['', 'services', 'Service', { spec: { ports: [{ port: 80 }] } }, '403 create'],
  ['', 'endpoints', 'Endpoints', {}, '403 create'],
  ['', 'limitranges', 'LimitRange', { spec: { limits: [] } }, '403 create'],
  ['coordination.k8s.io', 'leases', 'Lease', { spec: {} }, '403 create'],
  ['rbac.authorization.k8s.io', 'roles', 'Role', { rules: [] }, '403 create'],
];

it.each(MAKING)('an apply of what is not there is asked for as create, and a PUT of some: %s/%s', async (...row) => {
  const [apiGroup, resource, kind, rest, ofPut] = row;
  const user = `making-${randomUUID()}`;
  const narrowing = Narrowing.parse({ verbs: ['patch', 'update'] });
  for (const object of equalRbac(user, kube.rulesOf['cluster-admin'], narrowing)) await kube.objects.create(object);
  const root = apiGroup === '' ? '/api/v1' : `/apis/${apiGroup}/v1`;
  const path = `${root}/namespaces/web/${resource}/made`;
  const body = { apiVersion: apiGroup === '' ? 'v1' : `${apiGroup}/v1`, kind, metadata: NEW, ...rest };
  const apply = { method: 'PATCH', path: `${path}?fieldManager=test`, type: APPLY, body } as const;
  await eventually(async () => expect(await writeAs(user, apply)).toBe('403 create'));
  expect(await writeAs(user, { method: 'PUT', path, type: JSON_TYPE, body })).toBe(ofPut);
  const read = readAttributes('PUT', path, [JSON_TYPE]);
  expect(read.kind === 'resource' && read.mayCreate).toBe(ofPut === '403 create' ? 'put' : undefined);
});

const CORP_DEV = { kind: 'group', name: 'corp:dev' } as const;
let people = 0;
/** Somebody who has just logged in, and is known to the replica. */
async function login(
  groups: string[] = [],
  until: Pick<GivenLogin, 'expiresAt' | 'sessionEndsAt'> = {},
): Promise<{ user: string; token: string }> {
  people += 1;
  const user = `corp:person-${people}`;
  const token = await installation.addLogin(user, { groups, ...until });
  await eventually(async () => expect((await ask(token, '/api')).status).not.toBe(401), { intervalMs: 20 });
  return { user, token };
}

function ask(token: string, path: string, call: DoorCall = {}): Promise<DoorAnswer> {
  return callDoor(installation, replica, { token, path: `/clusters/demo${path}`, ...call });
}

async function until(status: number, token: string, path: string, call: DoorCall = {}): Promise<DoorAnswer> {
  return eventually(
    async () => {
      const answer = await ask(token, path, call);
      if (answer.status !== status) throw new Error(`${answer.status} ${answer.body}`);
      return answer;
    },
    { intervalMs: 20 },
  );
}

const WEB = '/api/v1/namespaces/web';

describe('through the door to a real kube-apiserver', () => {
  it('somebody sees what they are granted, and no more', async () => {
    const { token, user } = await login(['corp:dev']);
    expect((await ask(token, '/api')).status).toBe(404);
    const [grantId] = await installation.putGrants(CORP_DEV, { narrowing: { namespaces: ['web'] } });
    const list = await until(200, token, `${WEB}/configmaps`);
    expect(list.body).toContain('"of":"web"');
    expect((await ask(token, '/api')).status).toBe(200);
    // RBAC of the cluster says no to the role.
    const secrets = await ask(token, `${WEB}/secrets`);
    expect([secrets.status, secrets.body.includes(`User \\"${user}\\" cannot list`)]).toEqual([403, true]);
    // The door says no to what is beyond the narrowing.
    for (const path of ['/api/v1/namespaces/other/configmaps', '/api/v1/configmaps', '/api/v1/nodes', '/metrics']) {
      const { status, body } = await ask(token, path);
      expect([path, status, body.includes('FORBIDDEN'), body.includes(user)]).toEqual([path, 403, true, true]);
    }
    const { body } = await ask(token, '/api/v1/namespaces/other/configmaps');
    expect(body).toContain('may not list configmaps in the namespace \\"other\\" in the cluster \\"demo\\"');
    expect(body).toContain('fairlead access request');
    await installation.putGrants(CORP_DEV, { narrowing: { namespaces: ['web'] } }, { effect: 'deny', narrowing: {} });
    await until(403, token, `${WEB}/configmaps`);
    await installation.putGrants(CORP_DEV);
    await until(404, token, `${WEB}/configmaps`);
    expect(grantId).toBeDefined();
  });

  it('kubectl --as is who is asked for, where a grant says so', async () => {
    const { token, user } = await login();
    await kube.objects.create(bound('bob', 'ClusterRole', { kind: 'User', name: 'bob' }, { namespace: 'web' }, 'view'));
    await installation.putGrants({ kind: 'user', name: user }, { groups: [], impersonate: { users: ['bob'] } });
    const asBob = { headers: ['Impersonate-User', 'bob'] };
    await until(200, token, `${WEB}/configmaps`, asBob);
    expect((await ask(token, `${WEB}/configmaps`)).status).toBe(403);
    expect((await ask(token, '/api/v1/configmaps', asBob)).body).toContain('User \\"bob\\" cannot list');
    const eve = await ask(token, `${WEB}/configmaps`, { headers: ['Impersonate-User', 'eve'] });
    expect([eve.status, eve.body.includes('act as \\"eve\\"')]).toEqual([403, true]);
    expect((await ask(installation.token, `${WEB}/configmaps`, asBob)).status).toBe(403);
  });

  it('a lockdown shuts out all but the administrator, whose use is told of', async () => {
    const { token, user } = await login();
    await installation.putGrants({ kind: 'user', name: user }, {});
    await until(200, token, `${WEB}/configmaps`);
    await installation.lockDown(null, 'an incident');
    expect((await until(403, token, `${WEB}/configmaps`)).body).toContain('is locked down: an incident');
    expect((await ask(installation.token, '/api')).status).toBe(200);
    expect(replica.administrators.at(-1)).toMatchObject({ user: 'admin', door: 'kube-api', cluster: 'demo' });
    await installation.liftLockdown(null);
    await until(200, token, `${WEB}/configmaps`);
  });

  it('a grant follows the labels of the cluster', async () => {
    const { token, user } = await login();
    const { cluster } = installation;
    await installation.putGrants({ kind: 'user', name: user }, { clusters: { selector: 'stage=test' } });
    expect((await ask(token, '/api')).status).toBe(404);
    await installation.putCluster({ ...cluster, labels: { stage: 'test' } });
    await until(200, token, `${WEB}/configmaps`);
    await installation.putCluster(cluster);
    await until(404, token, `${WEB}/configmaps`);
  });
});

const open: { destroy(): unknown }[] = [];
afterEach(() => {
  for (const each of open.splice(0)) each.destroy();
});

/** A watch that has begun. Resolves `broken` with when it broke off. */
async function watch(token: string): Promise<{ readonly broken: Promise<number>; isOver(): boolean }> {
  const outgoing = openDoor(installation, replica, { token, path: `/clusters/demo${WEB}/configmaps?watch=1` });
  open.push(outgoing);
  outgoing.on('error', () => undefined).end();
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  answer.on('error', () => undefined);
  expect(answer.statusCode).toBe(200);
  await once(answer, 'data');
  answer.resume();
  let isOver = false;
  const broken = new Promise<number>((resolve) =>
    answer.once('close', () => {
      isOver = true;
      resolve(Date.now());
    }),
  );
  return { broken, isOver: () => isOver };
}

describe('what goes on', () => {
  /** What a busy machine may add to the two seconds that are promised. */
  const SLACK_MS = 8_000;

  it('ends when its grant is deleted or narrowed, and nobody else’s does', async () => {
    const [one, other, third] = [await login(), await login(), await login()];
    const subjectOf = ({ user }: { user: string }) => ({ kind: 'user', name: user }) as const;
    for (const each of [one, other, third]) await installation.putGrants(subjectOf(each), {});
    const watches = [];
    for (const each of [one, other, third]) {
      await until(200, each.token, `${WEB}/configmaps`);
      watches.push(await watch(each.token));
    }
    const beganMs = Date.now();
    await installation.putGrants(subjectOf(one));
    await installation.putGrants(subjectOf(other), { narrowing: { namespaces: ['other'] } });
    expect((await watches[0]!.broken) - beganMs).toBeLessThan(2_000 + SLACK_MS);
    expect((await watches[1]!.broken) - beganMs).toBeLessThan(2_000 + SLACK_MS);
    expect(watches[2]!.isOver()).toBe(false);
    await installation.lockDown(installation.cluster, 'an incident');
    await watches[2]!.broken;
    await installation.liftLockdown(installation.cluster);
  });

  // The last one: NATS does not come back.
  it('ends when its grant, its token or the session of that lapses, also while NATS is away', async () => {
    const endsMs = Date.now() + 15_000;
    const sessionEndsMs = endsMs + 1_000;
    const expiresAt = new Date(endsMs);
    const [lapsing, staying, ending] = [await login(), await login(), await login([], { expiresAt })];
    const [renewed, ended] = [
      await login([], { expiresAt, sessionEndsAt: new Date(endsMs + 3_600_000) }),
      await login([], { expiresAt, sessionEndsAt: new Date(sessionEndsMs) }),
    ];
    await installation.putGrants({ kind: 'user', name: lapsing.user }, { expiresAt: expiresAt.toISOString() });
    for (const { user } of [staying, ending, renewed, ended])
      await installation.putGrants({ kind: 'user', name: user }, {});
    const watches = [];
    for (const { token } of [lapsing, ending, staying, renewed, ended]) {
      await until(200, token, `${WEB}/configmaps`);
      watches.push(await watch(token));
    }
    await installation.nats.server.stop();
    const [byGrant, byToken] = [await watches[0]!.broken, await watches[1]!.broken];
    for (const brokeMs of [byGrant, byToken]) {
      expect(brokeMs).toBeGreaterThanOrEqual(endsMs);
      expect(brokeMs - endsMs).toBeLessThan(2_000 + SLACK_MS);
    }
    const bySession = await watches[4]!.broken;
    expect(bySession).toBeGreaterThanOrEqual(sessionEndsMs);
    expect(bySession - sessionEndsMs).toBeLessThan(2_000 + SLACK_MS);
    expect([watches[2]!.isOver(), watches[3]!.isOver()]).toEqual([false, false]);
    expect((await ask(renewed.token, `${WEB}/configmaps`)).status).toBe(401);
    expect((await ask(staying.token, `${WEB}/configmaps`)).status).toBe(200);
    expect((await ask(lapsing.token, `${WEB}/configmaps`)).status).toBe(404);
    expect((await ask(ending.token, `${WEB}/configmaps`)).status).toBe(401);
  });
});
