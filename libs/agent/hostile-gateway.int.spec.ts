import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { create, toBinary } from '@bufbuild/protobuf';
import {
  joinBearer,
  signStatementRevocations,
  signAccessStatement,
  splitBearer,
  writeStatementRevocations,
  type StatementRevocations,
  type AccessStatement,
} from '@fairlead/access-statement';
import { SignedTime } from '@fairlead/access-statement/signed-time';
import { Registry, noTracer, silentLogger } from '@fairlead/observability';
import {
  OpenSchema,
  SelfSubjectAccessReviewSchema,
  SelfSubjectRulesReviewSchema,
  SignedRevocationsSchema,
  UnknownSchema,
} from '@fairlead/proto';
import { systemClock } from '@fairlead/clock';
import { eventually, testAuthority, type TestAuthority } from '@fairlead/testing';
import { TcpTargets } from '@fairlead/tcp-targets';
import { acceptTunnel, type AcceptorOptions } from '@fairlead/tunnel/agent';
import { TunnelConnection } from '@fairlead/tunnel/link';
import {
  collect,
  sessionPair,
  startRecordingApiServer,
  type RecordingApiServer,
  type SessionPair,
} from '@fairlead/tunnel/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AgentIdentity } from './agent-identity.js';
import { createAgentMetrics } from './agent-metrics.js';
import { AgentRevocations } from './agent-revocations.js';
import { AgentStatements } from './agent-statements.js';
import { HeldIdentity } from './held-identity.js';
import { KubeApiProxy } from './kube-api-proxy.js';

const MINUTE_MS = 60_000;
const clusterId = randomUUID();
const startMs = Date.now();
const at = (minutes: number): string => new Date(startMs + minutes * MINUTE_MS).toISOString();
const statement: AccessStatement = {
  version: 1,
  tenantId: 'default',
  clusterId,
  tokenId: randomUUID(),
  kind: 'login',
  user: 'corp:alice',
  rules: [
    { grantId: randomUUID(), effect: 'allow', groups: ['fairlead:view', 'shop'], narrowing: { namespaces: ['shop'] } },
    {
      grantId: randomUUID(),
      effect: 'allow',
      groups: ['fairlead:edit'],
      narrowing: { resources: ['configmaps'], namespaces: ['shop'] },
    },
  ],
  notBefore: at(0),
  openUntil: at(30),
  streamsUntil: at(45),
  serial: randomUUID(),
};
/** Whatever a gateway might wish for. */
const ALL_GROUPS = ['fairlead:admins', 'fairlead:cluster-admin', 'fairlead:edit', 'fairlead:view', 'shop'];

let authority: TestAuthority;
let api: RecordingApiServer;
let pair: SessionPair;
let proxy: KubeApiProxy;
let nowMs: number;
let agent: AcceptorOptions;
let revocations: AgentRevocations;
let identity: HeldIdentity;
/** What it keeps. */
let saved: AgentIdentity | null;

beforeAll(async () => {
  authority = await testAuthority();
  [api, pair] = await Promise.all([startRecordingApiServer(authority), sessionPair()]);
});
afterAll(async () => {
  await pair?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
});

beforeEach(() => {
  nowMs = startMs + 1_000;
  saved = null;
  api.requests.length = 0;
  api.handle = (_request, response) => void response.end('{}');
  agent = agentWith();
  return () => proxy.close();
});

function agentWith(required = false): AcceptorOptions {
  const time = new SignedTime(() => nowMs);
  const target = { host: '127.0.0.1', port: api.port, caPem: authority.roots.join('\n') };
  proxy = new KubeApiProxy(
    { ...target, token: () => Promise.resolve('token') },
    silentLogger,
    undefined,
    noTracer,
    time,
  );
  const { trustDomain } = authority;
  const held: AgentIdentity = saved ?? {
    clusterId,
    generation: 1,
    trustDomain,
    keyPem: '',
    chainPem: [''],
    rootsPem: [...authority.roots],
    trustVersion: 0,
  };
  const store = {
    load: async () => ({ identity: saved, pending: null }),
    saveIdentity: async (changed: AgentIdentity) => void (saved = changed),
    savePending: () => Promise.resolve(),
  };
  identity = new HeldIdentity(held, store);
  const targets = new TcpTargets({ rules: [], refusedBy: 'nobody' });
  const tcp = { targets, metrics: createAgentMetrics(new Registry()), logger: silentLogger, tracer: noTracer };
  revocations = new AgentRevocations({ identity, time, logger: silentLogger, clock: systemClock });
  const statements = new AgentStatements({ identity, time, required, revocations, logger: silentLogger });
  return { clusterId, generation: 1, kubeApi: proxy, statements, tcp, logger: silentLogger };
}

async function signed(change: Partial<AccessStatement> = {}, by = 'access-statements'): Promise<Uint8Array> {
  const { privateKeyPem, chain } = await authority.service(by);
  return signAccessStatement({ ...statement, ...change }, { keyPem: privateKeyPem, chainPem: chain.slice(0, -1) });
}

/** What the gateway writes into Open: it may lie about all of it. */
interface Said {
  readonly user?: string;
  readonly groups?: readonly string[];
  readonly statement?: Uint8Array;
}

/** A tunnel that the gateway opened. Rejects with the agent's refusal. */
async function open({
  user = 'corp:alice',
  groups = ALL_GROUPS,
  statement: envelope,
}: Said): Promise<TunnelConnection> {
  const { client, server } = await pair.stream();
  acceptTunnel(client, agent, () => undefined);
  const opener = new TunnelConnection(server, 'opener');
  const value = {
    user,
    groups: [...groups],
    extra: [{ key: 'scopes', values: ['all'] }],
    statement: envelope ?? new Uint8Array(),
  };
  const message = create(OpenSchema, {
    tunnelId: 't',
    tenantId: 'default',
    clusterId,
    generation: 1,
    target: { case: 'kubeApi', value },
  });
  await opener.open(message, AbortSignal.timeout(10_000));
  return opener;
}

type Request = [request: string, body?: string | Uint8Array, headers?: string];

/** The whole answer to one request, as text. */
async function ask(tunnel: TunnelConnection, ...[request, body = '', headers = '']: Request): Promise<string> {
  const bytes = Buffer.from(body);
  const length = bytes.length === 0 ? '' : `Content-Length: ${bytes.length}\r\n`;
  const answer = collect(tunnel);
  tunnel.end(Buffer.concat([Buffer.from(`${request} HTTP/1.1\r\nHost: cluster\r\n${headers}${length}\r\n`), bytes]));
  return (await answer).toString();
}
const asked = async (...[said, ...request]: [Said, ...Request]): Promise<string> => ask(await open(said), ...request);

/** Of the last request that reached the API server. */
function sentAs(): { user: string[]; groups: string[]; others: string[] } {
  const { rawHeaders = [] } = api.requests.at(-1) ?? {};
  const pairs = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [[name.toLowerCase(), rawHeaders[index + 1] ?? '']] : [],
  );
  const of = (name: string): string[] => pairs.flatMap(([each, value]) => (each === name ? [value!] : []));
  const others = pairs.flatMap(([name = '']) => (/^impersonate-(extra|uid)/.test(name) ? [name] : []));
  return { user: of('impersonate-user'), groups: of('impersonate-group').toSorted(), others };
}

/** As a gateway tells it. */
async function told(change: Partial<StatementRevocations>, by = 'access-statements', claims = change.number ?? 1) {
  const { privateKeyPem, chain } = await authority.service(by);
  const list = { version: 1, tenantId: 'default', number: 1, issuedAt: at(0), floor: null, revoked: [], locked: [] };
  const document = writeStatementRevocations({ ...list, ...change } as StatementRevocations);
  const envelope = await signStatementRevocations(document, { keyPem: privateKeyPem, chainPem: chain.slice(0, -1) });
  return create(SignedRevocationsSchema, { number: BigInt(claims), envelope });
}

describe('with a statement, a hostile gateway', () => {
  it('gets what it holds, with the groups of the rules that hold the request, and no word of its own', async () => {
    const envelope = await signed();
    expect(await asked({ statement: envelope }, 'GET /api/v1/namespaces/shop/pods')).toMatch(/^HTTP\/1.1 200 /);
    expect(sentAs()).toEqual({ user: ['corp:alice'], groups: ['fairlead:view', 'shop'], others: [] });
    await asked({ statement: envelope }, 'GET /api/v1/namespaces/shop/configmaps/x');
    expect(sentAs().groups).toEqual(['fairlead:edit', 'fairlead:view', 'shop']);
    await asked({ statement: envelope, groups: ['fairlead:view'] }, 'GET /api/v1/namespaces/shop/configmaps/x');
    expect(sentAs().groups).toEqual(['fairlead:view']);
  });

  it.each(['corp:bob', 'admin', 'token:ci'])('cannot be somebody else: %s', async (user) => {
    const answer = await asked({ user, statement: await signed() }, 'GET /api/v1/namespaces/shop/pods');
    expect(answer).toMatch(/^HTTP\/1.1 403 /);
    expect(answer).toContain('IDENTITY_REFUSED');
    expect(api.requests).toEqual([]);
  });

  it('is somebody else where the statement lets its user, and with no group that it does not name', async () => {
    const impersonate = { users: ['bob'], groups: ['dev'] };
    const envelope = await signed({ rules: [{ ...statement.rules[0]!, impersonate }] });
    await asked({ user: 'bob', groups: ['dev'], statement: envelope }, 'GET /api/v1/namespaces/shop/pods');
    expect(sentAs()).toEqual({ user: ['bob'], groups: ['dev'], others: [] });
    const more = await asked(
      { user: 'bob', groups: ['dev', 'ops'], statement: envelope },
      'GET /api/v1/namespaces/shop/pods',
    );
    expect(more).toContain('IDENTITY_REFUSED');
    const ours = await asked(
      { user: 'bob', groups: ['fairlead:admins'], statement: envelope },
      'GET /api/v1/namespaces/shop/pods',
    );
    expect(ours).toContain('IDENTITY_REFUSED');
    const elsewhere = await asked({ user: 'bob', groups: ['dev'], statement: envelope }, 'GET /api/v1/pods');
    expect(elsewhere).toContain('FORBIDDEN');
  });

  it.each([
    ['GET', '/api/v1/namespaces/default/pods'],
    ['GET', '/api/v1/pods'],
    ['GET', '/api/v1/namespaces'],
    ['GET', '/logs'],
    ['GET', '/api/v1/namespaces/shop/../default/pods'],
    ['GET', '/api/v1/watch/namespaces/default/pods'],
  ])('gets nothing beyond it: %s %s', async (method, path) => {
    expect(await asked({ statement: await signed() }, `${method} ${path}`)).toMatch(/^HTTP\/1.1 40[03] /);
    expect(api.requests).toEqual([]);
  });

  it('cannot extend it, or use it after its end', async () => {
    const envelope = await signed();
    const { secret, statement: text } = splitBearer(joinBearer({ secret: 's', statement: envelope }));
    expect(secret).toBe('s');
    const extended = Buffer.from(Buffer.from(text!).toString('latin1').replace(at(30), at(44)), 'latin1');
    expect(extended.equals(Buffer.from(envelope))).toBe(false);
    await expect(open({ statement: extended })).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
    nowMs = startMs + 30 * MINUTE_MS;
    await expect(open({ statement: envelope })).rejects.toMatchObject({ code: 'STATEMENT_EXPIRED' });
  });

  it('cannot go on asking on a tunnel that it opened in time', async () => {
    const tunnel = await open({ statement: await signed() });
    nowMs = startMs + 30 * MINUTE_MS;
    const answer = await ask(tunnel, 'GET /api/v1/namespaces/shop/pods');
    expect(answer).toMatch(/^HTTP\/1.1 401 /);
    expect(answer).toContain('STATEMENT_EXPIRED');
    expect(api.requests).toEqual([]);
  });

  it('loses what runs when its time is over', async () => {
    const answering = Promise.withResolvers<ServerResponse>();
    api.handle = (_request: IncomingMessage, response: ServerResponse) => {
      response.write('{"type":"ADDED"}\n');
      answering.resolve(response);
    };
    const running = { openUntil: at(1), streamsUntil: at(1) };
    nowMs = startMs + MINUTE_MS - 200;
    const tunnel = await open({ statement: await signed(running) });
    const ended = new Promise<Error>((resolve) => tunnel.once('error', resolve));
    tunnel.resume().write('GET /api/v1/namespaces/shop/pods?watch=1 HTTP/1.1\r\nHost: cluster\r\n\r\n');
    const upstream = await answering.promise;
    expect(tunnel.destroyed).toBe(false);
    nowMs = startMs + MINUTE_MS;
    expect(await ended).toMatchObject({ code: 'STATEMENT_EXPIRED' });
    await eventually(() => expect(upstream.destroyed).toBe(true));
  });

  it('cannot use it once its root has retired, though it was served by it before, nor another one of that signer', async () => {
    const { privateKeyPem: keyPem, chain } = await authority.service('access-statements');
    const signer = { keyPem, chainPem: chain.slice(0, -1) };
    const another = await signAccessStatement({ ...statement, serial: randomUUID() }, signer);
    const envelope = await signAccessStatement(statement, signer);
    const pods = 'GET /api/v1/namespaces/shop/pods';
    expect(await asked({ statement: envelope }, pods)).toMatch(/^HTTP\/1.1 200 /);
    const { roots } = await testAuthority();
    await identity.change((current) => ({ ...current, rootsPem: [...roots] }));
    for (const each of [envelope, another]) {
      await expect(open({ statement: each })).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
    }
  });

  it('cannot take it to another cluster', async () => {
    const elsewhere = await signed({ clusterId: randomUUID() });
    await expect(open({ statement: elsewhere })).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
  });

  it.each(['gateway', 'keys', 'access'])('cannot make one with the key of the service %s', async (by) => {
    await expect(signed({}, by).then((envelope) => open({ statement: envelope }))).rejects.toMatchObject({
      code: 'STATEMENT_REFUSED',
    });
  });

  it('cannot make one with the key of its own certificate', async () => {
    const { privateKeyPem, chain } = await authority.gateway('access-statements');
    const envelope = await signAccessStatement(statement, { keyPem: privateKeyPem, chainPem: chain.slice(0, -1) });
    await expect(open({ statement: envelope })).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
  });

  it('cannot send groups of Kubernetes itself, whoever signed them', async () => {
    const envelope = await signed({
      rules: [{ ...statement.rules[0]!, groups: ['shop', 'x\r\nImpersonate-Group: system:masters'] }],
    });
    const groups = ['shop', 'x\r\nImpersonate-Group: system:masters'];
    await expect(open({ statement: envelope, groups })).rejects.toMatchObject({ code: 'IDENTITY_REFUSED' });
  });
});

describe('what was revoked', () => {
  const tokenRevoked = { revoked: [{ kind: 'token', value: statement.tokenId, before: at(0) }] };
  const REVOKED = { code: 'STATEMENT_REVOKED' };

  it('a hostile gateway cannot use, if one honest link told of it', async () => {
    const envelope = await signed();
    await asked({ statement: envelope }, 'GET /api/v1/namespaces/shop/pods');
    await revocations.take(await told({ number: 2, ...tokenRevoked }));
    await expect(open({ statement: envelope })).rejects.toMatchObject(REVOKED);
    await expect(open({ statement: await signed() })).rejects.toMatchObject(REVOKED);
    await expect(open({ statement: await signed({ tokenId: randomUUID() }) })).resolves.toBeDefined();
  });

  it('cannot be brought back by an earlier list, by one of another tenant, or by its own', async () => {
    const envelope = await signed();
    await open({ statement: envelope });
    await revocations.take(await told({ number: 5, ...tokenRevoked }));
    const lies = [
      await told({ number: 4 }),
      await told({ number: 4 }, 'access-statements', 99),
      await told({ number: 99 }, 'keys'),
      await told({ number: 99, tenantId: 'other' }),
      create(SignedRevocationsSchema, { number: 99n, envelope: Buffer.from('nonsense') }),
    ];
    await Promise.all(lies.map((lie) => revocations.take(lie)));
    expect(revocations.number).toBe(5);
    await expect(open({ statement: envelope })).rejects.toMatchObject(REVOKED);
  });

  it('cannot be hidden behind a list of another tenant that came first', async () => {
    await revocations.take(await told({ number: 99, tenantId: 'other' }));
    await revocations.take(await told({ number: 1, ...tokenRevoked }));
    await expect(open({ statement: await signed() })).rejects.toMatchObject(REVOKED);
  });

  it('counts after a restart as well, before any gateway has said a word', async () => {
    const envelope = await signed();
    await open({ statement: envelope });
    await revocations.take(await told({ number: 3, ...tokenRevoked }));
    await eventually(() => expect(saved?.revocations?.number).toBe(3));
    agent = agentWith();
    expect(revocations.number).toBe(3);
    await expect(open({ statement: envelope })).rejects.toMatchObject(REVOKED);
  });

  it('is kept too where it was told before it was known whose the cluster is', async () => {
    await revocations.take(await told({ number: 3 }));
    expect([revocations.number, saved]).toEqual([0, null]);
    await open({ statement: await signed() });
    expect(revocations.number).toBe(3);
    await eventually(() => expect(saved?.revocations?.number).toBe(3));
  });

  it('ends what runs, and serves no further request on a tunnel that stands', async () => {
    const answering = Promise.withResolvers<ServerResponse>();
    api.handle = (_request: IncomingMessage, response: ServerResponse) => {
      response.write('{"type":"ADDED"}\n');
      answering.resolve(response);
    };
    const tunnel = await open({ statement: await signed() });
    const ended = new Promise<Error>((resolve) => tunnel.once('error', resolve));
    tunnel.resume().write('GET /api/v1/namespaces/shop/pods?watch=1 HTTP/1.1\r\nHost: cluster\r\n\r\n');
    const upstream = await answering.promise;
    await revocations.take(await told({ number: 2, locked: [clusterId] }));
    expect(await ended).toMatchObject(REVOKED);
    await eventually(() => expect(upstream.destroyed).toBe(true));
    await revocations.take(await told({ number: 3 }));
    await expect(open({ statement: await signed() })).resolves.toBeDefined();
  });
});

describe('a cluster that requires statements', () => {
  it('serves nobody without one, whatever a gateway says', async () => {
    await expect(asked({}, 'GET /api/v1/pods')).resolves.toMatch(/^HTTP\/1.1 200 /);
    agent = agentWith(true);
    await expect(open({ user: 'admin' })).rejects.toMatchObject({ code: 'STATEMENT_REQUIRED' });
    await expect(asked({ statement: await signed() }, 'GET /api/v1/namespaces/shop/pods')).resolves.toMatch(/ 200 /);
  });
});

describe('a cluster that came to require statements', () => {
  const refused = { code: 'STATEMENT_REQUIRED' };

  it('goes by what was signed, and no gateway takes it back', async () => {
    const standing = await open({});
    const ended = new Promise<Error>((resolve) => standing.once('error', resolve));
    await revocations.take(await told({ number: 5, required: [clusterId] }));
    expect(await ended).toMatchObject(refused);
    await expect(open({ user: 'admin' })).rejects.toMatchObject(refused);
    await open({ statement: await signed() });
    await revocations.take(await told({ number: 4 }));
    await revocations.take(await told({ number: 9 }, 'keys'));
    await expect(open({ user: 'admin' })).rejects.toMatchObject(refused);
    await revocations.take(await told({ number: 6 }));
    await expect(open({})).resolves.toBeDefined();
  });

  it('in its own manifest goes by that, whatever was signed', async () => {
    agent = agentWith(true);
    await revocations.take(await told({ number: 6 }));
    await expect(open({ user: 'admin' })).rejects.toMatchObject(refused);
  });
});

describe('a review of one’s own rights', () => {
  const PATH = 'POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const review = (namespace: string, resource = 'configmaps'): string =>
    JSON.stringify({ spec: { resourceAttributes: { verb: 'get', resource, namespace } } });
  const json = 'Content-Type: application/json\r\n';

  const of = (kind: string, raw: Uint8Array, apiVersion = 'authorization.k8s.io/v1'): Buffer => {
    const object = create(UnknownSchema, { typeMeta: { apiVersion, kind }, raw });
    return Buffer.concat([Buffer.from('k8s\0'), toBinary(UnknownSchema, object)]);
  };
  const inProtobuf = (namespace: string, resource = 'configmaps', more: object = {}): Uint8Array => {
    const resourceAttributes = { verb: 'get', resource, namespace, ...more };
    return toBinary(
      SelfSubjectAccessReviewSchema,
      create(SelfSubjectAccessReviewSchema, { spec: { resourceAttributes } }),
    );
  };
  const protobuf = 'Content-Type: application/vnd.kubernetes.protobuf\r\n';
  const access = (namespace: string, more?: object): Buffer =>
    of('SelfSubjectAccessReview', inProtobuf(namespace, 'configmaps', more));
  /** What the API server was sent. */
  const bodies: string[] = [];
  beforeEach(() => {
    bodies.length = 0;
    api.handle = (request, response) => {
      request.on('data', (piece: Buffer) => void bodies.push(piece.toString()));
      request.on('end', () => response.writeHead(201).end('{"status":{"allowed":true}}'));
    };
  });

  it.each([
    ['JSON', review('shop'), json],
    ['protobuf', access('shop'), protobuf],
  ])('in %s is asked with the groups of what it speaks of', async (_, body, headers) => {
    const answer = await asked({ statement: await signed() }, PATH, body, headers);
    expect(answer).toMatch(/^HTTP\/1.1 201 [^]*"allowed":true/);
    expect(sentAs().groups).toEqual(['fairlead:edit', 'fairlead:view', 'shop']);
    expect(JSON.parse(bodies.join(''))).toMatchObject(JSON.parse(review('shop')) as object);
  });

  it('in protobuf goes on whole, selectors and all', async () => {
    const fieldSelector = { requirements: [{ key: 'spec.nodeName', operator: 'In', values: ['node-a'] }] };
    await asked({ statement: await signed() }, PATH, access('shop', { fieldSelector, name: 'x' }), protobuf);
    const { spec } = JSON.parse(bodies.join('')) as { spec: object };
    expect(spec).toMatchObject({ resourceAttributes: { name: 'x', fieldSelector } });
  });

  it('in protobuf is answered with no, as one in JSON', async () => {
    const answer = await asked({ statement: await signed() }, PATH, access('default'), protobuf);
    expect(answer).toMatch(/^HTTP\/1.1 201 [^]*application\/json[^]*"allowed":false,"reason":"fairlead: /);
    expect(bodies).toEqual([]);
  });

  it.each<[string, Uint8Array]>([
    ['JSON', Buffer.from(review('shop'))],
    ['another kind', of('Pod', inProtobuf('shop'))],
    ['a review of another version', of('SelfSubjectAccessReview', inProtobuf('shop'), 'authorization.k8s.io/v2')],
    ['half a review', access('shop').subarray(0, -3)],
    ['no envelope', inProtobuf('shop')],
    ['nothing', Buffer.from('k8s\0')],
  ])('that says protobuf and is %s is refused, and nobody is asked', async (_, body) => {
    const answer = await asked({ statement: await signed() }, PATH, body, protobuf);
    expect(answer).toMatch(/^HTTP\/1.1 400 [^]*is not protobuf of a SelfSubjectAccessReview/);
    expect(bodies).toEqual([]);
  });

  it('is answered with no where the statement does not hold it, and nobody is asked', async () => {
    const answer = await asked({ statement: await signed() }, PATH, review('default'), json);
    expect(answer).toMatch(/^HTTP\/1.1 201 [^]*"allowed":false,"reason":"fairlead: /);
    expect(api.requests).toEqual([]);
  });

  it.each(['application/cbor', 'application/yaml', 'application/json\r\nContent-Encoding: gzip'])(
    'in an encoding that is not read is answered 415: %s',
    async (type) => {
      const answer = await asked({ statement: await signed() }, PATH, review('shop'), `Content-Type: ${type}\r\n`);
      expect(answer).toMatch(/^HTTP\/1.1 415 /);
      expect(answer).toContain('"reason":"UnsupportedMediaType"');
      expect(api.requests).toEqual([]);
    },
  );

  it('is bounded', async () => {
    const answer = await asked({ statement: await signed() }, PATH, `{"spec":"${'x'.repeat(70_000)}"}`, json);
    expect(answer).toMatch(/^HTTP\/1.1 413 /);
  });

  const ofShop = toBinary(
    SelfSubjectRulesReviewSchema,
    create(SelfSubjectRulesReviewSchema, { spec: { namespace: 'shop' } }),
  );
  it.each([
    ['JSON', '{"spec":{"namespace":"shop"}}', json],
    ['protobuf', of('SelfSubjectRulesReview', ofShop), protobuf],
  ])('in %s lists no more than the statement holds', async (_, body, headers) => {
    const rule = (resources: string[]) => ({ verbs: ['get'], apiGroups: [''], resources });
    api.handle = (_request, response) =>
      void response
        .writeHead(201)
        .end(JSON.stringify({ status: { resourceRules: [rule(['configmaps', 'secrets'])], incomplete: false } }));
    const list = 'POST /apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
    const envelope = await signed({ rules: [statement.rules[1]!] });
    const answer = await asked({ statement: envelope }, list, body, `${headers}Accept-Encoding: gzip\r\n`);
    expect(answer).toMatch(/^HTTP\/1.1 201 /);
    expect(answer).toContain('"resources":["configmaps"]');
    expect(answer).toContain('"incomplete":true');
    expect(sentAs().groups).toEqual(['fairlead:edit']);
    expect(api.requests.at(-1)?.rawHeaders.map((each) => each.toLowerCase())).not.toContain('accept-encoding');
  });
});
