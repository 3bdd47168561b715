import { identityStore, parseEndpoint, runAgent, type Agent, type Resolve, type TextStore } from '@fairlead/agent';
import { BUCKETS, TRUST_KEY, type ClusterEntry, type TrustEntry } from '@fairlead/contracts';
import type { ClusterFacts, LinkTrouble } from '@fairlead/contracts';
import { startGateway, type Gateway, type Refusal } from '@fairlead/gateway';
import { deleteKv, putKv } from '@fairlead/messaging';
import { startSecuredNats, type SecuredNats } from '@fairlead/messaging/testing';
import { Registry, silentLogger, type Logger, type Tracer } from '@fairlead/observability';
import { parseTargetRule } from '@fairlead/targets';
import { eventually, scratchDir, testAuthority, type TestAuthority } from '@fairlead/testing';
import type { ReplicaOptions } from './replica-options.js';
import { signingRpc } from './signing-rpc.js';
import { TestCa } from './test-ca.js';
import { testDirectory, type TestDirectory } from './test-directory.js';

export interface Replica {
  readonly name: string;
  readonly gateway: Gateway;
  readonly registry: Registry;
  readonly refusals: Refusal[];
  /** What it reported to registration. */
  readonly troubles: LinkTrouble[];
  readonly facts: ClusterFacts[];
  stop(): Promise<void>;
}

export interface TestInstallation extends TestDirectory, AsyncDisposable {
  /** Whose root is the first one; agents begin with certificates of it. */
  readonly authority: TestAuthority;
  /** What signs by now. */
  readonly ca: TestCa;
  readonly nats: SecuredNats;
  readonly cluster: ClusterEntry;
  readonly token: string;
  /** Writes what `keys` would, or anything else, to the bucket that replicas learn from which roots count. */
  publishTrust(entry?: TrustEntry): Promise<void>;
  /** The bucket holds no bundle any more. */
  loseTrust(): Promise<void>;
  startReplica(name: 'gateway-a' | 'gateway-b', options?: ReplicaOptions): Promise<Replica>;
  /** An enrolled agent of the cluster, or of the given one, linked to the given replicas. */
  startAgent(options: StartAgentOptions): Promise<RunningAgent>;
}

export interface StartAgentOptions {
  readonly replicas: readonly Replica[];
  readonly apiPort: number;
  readonly links?: number;
  readonly cluster?: ClusterEntry;
  readonly certificateOf?: ClusterEntry;
  /** Who issued its certificate; default the installation's authority. */
  readonly certificateBy?: TestAuthority;
  /** `host:port` to dial instead of the replicas' own. */
  readonly endpoints?: readonly string[];
  readonly notAfter?: Date;
  /** Of the bundle whose roots it holds, which are the authority's; default 1. */
  readonly trustVersion?: number;
  /** A bootstrap token to enrol with, in place of an identity. */
  readonly token?: string;
  readonly logger?: Logger;
  /** Rules for raw TCP targets; default none. */
  readonly allowTargets?: readonly string[];
  readonly resolve?: Resolve;
  readonly registry?: Registry;
  /** Of its cluster, as it says; default nothing that is true. */
  readonly facts?: Parameters<typeof runAgent>[0]['facts'];
  readonly tracer?: Tracer;
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

  const keysNats = await nats.connect({ role: 'keys', credential: 'keys' });
  const directory = await testDirectory(registrationNats, keysNats);
  const ca = new TestCa(authority);
  const publishTrust = async (entry?: TrustEntry): Promise<void> =>
    putKv(keysNats, BUCKETS.trust, TRUST_KEY, entry ?? (await ca.bundle()));
  await publishTrust();
  const cluster = await directory.addCluster('demo');
  const token = await directory.addToken({ user: 'admin', groups: ['fairlead:admins'] });

  return {
    authority,
    ca,
    publishTrust,
    loseTrust: () => deleteKv(keysNats, BUCKETS.trust, TRUST_KEY),
    nats,
    cluster,
    token,
    ...directory,
    startReplica: async (name, options = {}) => {
      const replica = await startReplica(nats, ca, name, options);
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

async function startReplica(nats: SecuredNats, ca: TestCa, name: string, options: ReplicaOptions): Promise<Replica> {
  const nc = await nats.connect({ role: 'gateway', credential: name });
  const stopping = new AbortController();
  const registry = new Registry();
  const events = options.events?.(nc, name);
  const refusals: Refusal[] = [];
  const troubles: LinkTrouble[] = [];
  const facts: ClusterFacts[] = [];
  const gateway = await startGateway(
    {
      credential: name,
      nc,
      rpc: signingRpc(ca, name, troubles, facts),
      events: {
        agentConnected: (session) => events?.agentConnected(session),
        agentDisconnected: (session) => events?.agentDisconnected(session),
        accessRefused: (refusal) => {
          refusals.push(refusal);
          events?.accessRefused(refusal);
        },
      },
      logger: options.logger ?? silentLogger,
      registry,
      tracer: options.tracer,
      linkListen: '127.0.0.1:0',
      relayListen: '127.0.0.1:0',
      doorListen: '127.0.0.1:0',
      connectListen: '127.0.0.1:0',
      connectLimits: options.connectLimits,
      kubeApiLimits: options.kubeApiLimits,
      ...(options.metricsClusters === undefined ? {} : { metricsClusters: options.metricsClusters }),
      doorCertificate: options.doorFiles ?? { names: ['127.0.0.1'] },
      linkEndpoints: ['127.0.0.1:1'],
      zone: 'z1',
      leaseMs: LEASE_MS,
      doorGraceMs: options.doorGraceMs ?? 0,
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
  return { name, gateway, registry, refusals, troubles, facts, stop };
}

/** Of a certificate that ends then: now, or a minute before an end that is over. */
function beginOf(notAfter: Date): Date {
  const nowMs = Date.now();
  return new Date(notAfter.getTime() > nowMs ? nowMs : notAfter.getTime() - 60_000);
}

async function startAgent(
  authority: TestAuthority,
  ownCluster: ClusterEntry,
  options: StartAgentOptions,
): Promise<RunningAgent> {
  const cluster = options.cluster ?? ownCluster;
  const certified = options.certificateOf ?? cluster;
  const certificate = await (options.certificateBy ?? authority).agent(certified.clusterId, {
    generation: certified.generation,
    ...(options.notAfter ? { notBefore: beginOf(options.notAfter), notAfter: options.notAfter } : {}),
  });
  const stopping = new AbortController();
  const identity = JSON.stringify({
    clusterId: cluster.clusterId,
    generation: cluster.generation,
    trustDomain: authority.trustDomain,
    keyPem: certificate.privateKeyPem,
    chainPem: certificate.chain,
    rootsPem: authority.roots,
    trustVersion: options.trustVersion ?? 1,
  });
  const values: Record<string, string> = options.token === undefined ? { identity } : {};
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
      token: () => Promise.resolve(options.token ?? null),
      kubeApi: {
        host: '127.0.0.1',
        port: options.apiPort,
        caPem: authority.roots.join('\n'),
        token: () => Promise.resolve('the-service-account-token'),
      },
      tcp: {
        rules: (options.allowTargets ?? []).map(parseTargetRule),
        ...(options.resolve ? { resolve: options.resolve } : {}),
      },
      ...(options.registry ? { registry: options.registry } : {}),
      ...(options.tracer ? { tracer: options.tracer } : {}),
      facts: options.facts ?? { agentVersion: 'test', kubernetesVersion: 'test', platform: 'test' },
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
