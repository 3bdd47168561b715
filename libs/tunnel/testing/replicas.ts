import { X509Certificate, createHash, randomUUID } from 'node:crypto';
import { BUCKETS, type AccessEntry, type ClusterEntry, type Issued, type Rpc } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { deleteKv, putKv, type RpcClient } from '@fairlead/messaging';
import { startSecuredNats, type SecuredNats } from '@fairlead/messaging/testing';
import { Registry, silentLogger, type Logger } from '@fairlead/observability';
import { checkCsr, issueIdentity, issueServing, readPeerCertificate, sha256Hex } from '@fairlead/pki';
import { eventually, scratchDir, testAuthority, type TestAuthority } from '@fairlead/testing';
import { startGateway, type Gateway, type Refusal } from '../gateway/index.js';
import { identityStore, parseEndpoint, runAgent, type Agent, type TextStore } from '../agent/index.js';

export interface Replica {
  readonly name: string;
  readonly gateway: Gateway;
  readonly registry: Registry;
  readonly refusals: Refusal[];
  stop(): Promise<void>;
}

export interface TestInstallation extends AsyncDisposable {
  readonly authority: TestAuthority;
  readonly nats: SecuredNats;
  readonly cluster: ClusterEntry;
  readonly token: string;
  startReplica(name: 'gateway-a' | 'gateway-b'): Promise<Replica>;
  /** An enrolled agent of the cluster, or of the given one, linked to the given replicas. */
  startAgent(options: StartAgentOptions): Promise<RunningAgent>;
  addCluster(name: string, generation?: number): Promise<ClusterEntry>;
  removeCluster(cluster: ClusterEntry): Promise<void>;
  addToken(principal: { user: string; groups: string[] }): Promise<string>;
}

export interface StartAgentOptions {
  readonly replicas: readonly Replica[];
  readonly apiPort: number;
  readonly links?: number;
  readonly cluster?: ClusterEntry;
  readonly certificateOf?: ClusterEntry;
  /** `host:port` to dial instead of the replicas' own. */
  readonly endpoints?: readonly string[];
  readonly notAfter?: Date;
  readonly logger?: Logger;
  /** Do not wait for the links: the test is about their absence. */
  readonly expectRefusal?: boolean;
}

export interface RunningAgent {
  readonly agent: Agent;
  /** What its store holds. */
  readonly stored: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

const LEASE_MS = 3_000;

/** A real nats-server with production permissions, and replicas and agents in this process with real sockets and TLS. */
export async function startInstallation(): Promise<TestInstallation> {
  const dir = await scratchDir();
  const nats = await startSecuredNats(dir.path);
  const authority = await testAuthority();
  const registrationNats = await nats.connect({ role: 'registration', credential: 'registration' });
  const stops: (() => Promise<void>)[] = [];

  const addCluster = async (name: string, generation = 1): Promise<ClusterEntry> => {
    const entry: ClusterEntry = { tenantId: 'default', clusterId: randomUUID(), name, generation };
    await putKv(registrationNats, BUCKETS.clusters, `default.${entry.clusterId}`, entry);
    return entry;
  };
  const addToken = async (principal: { user: string; groups: string[] }): Promise<string> => {
    const token = sha256Hex(randomUUID());
    const tokenHash = createHash('sha256').update(token).digest('base64');
    const entry: AccessEntry = { ...principal, tenantId: 'default', tokenId: randomUUID(), tokenHash, expiresAt: null };
    await putKv(registrationNats, BUCKETS.access, `default.token.${entry.tokenId}`, entry);
    return token;
  };
  const cluster = await addCluster('demo');
  const token = await addToken({ user: 'admin', groups: ['fairlead:admins'] });

  return {
    authority,
    nats,
    cluster,
    token,
    addCluster,
    removeCluster: ({ clusterId }) => deleteKv(registrationNats, BUCKETS.clusters, `default.${clusterId}`),
    addToken,
    startReplica: async (name) => {
      const replica = await startReplica(nats, authority, name);
      stops.push(() => replica.stop());
      return replica;
    },
    startAgent: async (options) => {
      const running = await startAgent(authority, cluster, options);
      stops.push(() => running.stop());
      return running;
    },
    [Symbol.asyncDispose]: async () => {
      for (const stop of stops.toReversed()) await stop();
      await nats[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

async function startReplica(nats: SecuredNats, authority: TestAuthority, name: string): Promise<Replica> {
  const nc = await nats.connect({ role: 'gateway', credential: name });
  const stopping = new AbortController();
  const registry = new Registry();
  const refusals: Refusal[] = [];
  const gateway = await startGateway(
    {
      credential: name,
      nc,
      rpc: signingRpc(authority, name),
      events: {
        agentConnected: () => undefined,
        agentDisconnected: () => undefined,
        accessRefused: (refusal) => void refusals.push(refusal),
      },
      logger: silentLogger,
      registry,
      linkListen: '127.0.0.1:0',
      relayListen: '127.0.0.1:0',
      doorListen: '127.0.0.1:0',
      servingNames: ['127.0.0.1'],
      linkEndpoints: ['127.0.0.1:1'],
      zone: 'z1',
      leaseMs: LEASE_MS,
    },
    stopping.signal,
  );
  await eventually(() => {
    const failing = gateway.readiness().filter((check) => !check.ok);
    if (failing.length > 0) throw new Error(JSON.stringify(failing));
  });
  let stopped = false;
  const stop = async (): Promise<void> => {
    if (stopped) return;
    stopped = true;
    stopping.abort();
    await gateway.stop();
  };
  return { name, gateway, registry, refusals, stop };
}

/** `keys`, as far as a replica needs it here; the real service is exercised by its own tests and by e2e. */
function signingRpc(authority: TestAuthority, name: string): RpcClient {
  const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
  const sign = async (method: string, input: { csr: string; names?: string[] }): Promise<Issued> => {
    const csr = await checkCsr(Buffer.from(input.csr, 'base64'));
    const { trustDomain, issuing, root } = authority;
    const { certificatePem, serial } =
      method === 'sign-gateway'
        ? await issueIdentity(issuing, { csr, id: { kind: 'gateway', trustDomain, name }, ...validity })
        : await issueServing(issuing, { csr, names: input.names ?? [], ...validity });
    const chain = [certificatePem, issuing.certificatePem, root.certificatePem];
    return { chain, roots: [...authority.roots], serial, notAfter: validity.notAfter.toISOString() };
  };
  return {
    call: (rpc: Rpc, _tenant: string, input: unknown) => {
      if (rpc.method.startsWith('sign-')) return sign(rpc.method, input as { csr: string }) as never;
      if (rpc.method === 'renew-agent') return renewAgent(authority, input as RenewInput) as never;
      return Promise.reject(new FairleadError('UNAVAILABLE', `${rpc.method} is not part of this test`));
    },
  };
}

interface RenewInput {
  readonly csr: string;
  readonly currentChain: readonly string[];
}

async function renewAgent({ issuing, root, roots }: TestAuthority, input: RenewInput): Promise<Issued> {
  const { id, generation } = readPeerCertificate(new X509Certificate(input.currentChain[0] ?? '').raw);
  const notAfter = new Date(Date.now() + 3_600_000);
  const csr = await checkCsr(Buffer.from(input.csr, 'base64'));
  const issued = await issueIdentity(issuing, {
    csr,
    id,
    generation,
    notBefore: new Date(Date.now() - 60_000),
    notAfter,
  });
  const chain = [issued.certificatePem, issuing.certificatePem, root.certificatePem];
  return { chain, roots: [...roots], serial: issued.serial, notAfter: notAfter.toISOString() };
}

async function startAgent(
  authority: TestAuthority,
  ownCluster: ClusterEntry,
  options: StartAgentOptions,
): Promise<RunningAgent> {
  const cluster = options.cluster ?? ownCluster;
  const certified = options.certificateOf ?? cluster;
  const certificate = await authority.agent(certified.clusterId, {
    generation: certified.generation,
    ...(options.notAfter ? { notBefore: new Date(), notAfter: options.notAfter } : {}),
  });
  const stopping = new AbortController();
  const values: Record<string, string> = {
    identity: JSON.stringify({
      clusterId: cluster.clusterId,
      generation: cluster.generation,
      trustDomain: authority.trustDomain,
      keyPem: certificate.privateKeyPem,
      chainPem: certificate.chain,
      rootsPem: authority.roots,
    }),
  };
  const store: TextStore = {
    read: () => Promise.resolve(values),
    write: (changed) => Promise.resolve(void Object.assign(values, changed)),
  };
  const links = options.links ?? 1;
  const agent = runAgent(
    {
      endpoints: (options.endpoints ?? options.replicas.map(({ gateway }) => gateway.link.address)).map(parseEndpoint),
      proxy: { noProxy: [] },
      pins: [],
      links,
      store: identityStore(store),
      token: () => Promise.resolve(null),
      kubeApi: {
        host: '127.0.0.1',
        port: options.apiPort,
        caPem: authority.roots.join('\n'),
        token: () => Promise.resolve('the-service-account-token'),
      },
      facts: { agentVersion: 'test', kubernetesVersion: 'test', platform: 'test' },
      logger: options.logger ?? silentLogger,
    },
    stopping.signal,
  );
  if (!options.expectRefusal) {
    await eventually(() => {
      const detail = agent.readiness()[0]?.detail ?? '';
      if (!detail.startsWith(`${links} of`)) throw new Error(detail);
    });
  }
  return {
    agent,
    stored: values,
    stop: async () => {
      stopping.abort();
      await agent.done;
    },
  };
}
