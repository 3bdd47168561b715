import { BUCKETS, TRUST_KEY, type ClusterEntry, type TrustEntry } from '@fairlead/contracts';
import type { ClusterFacts, LinkProblem } from '@fairlead/contracts';
import {
  openAudit,
  parseEgressRule,
  startGateway,
  type AdministratorUse,
  type Gateway,
  type Refusal,
  type StreamEvent,
} from '@fairlead/gateway';
import { deleteKv, putKv } from '@fairlead/messaging';
import { startSecuredNats, type SecuredNats } from '@fairlead/messaging/testing';
import { Registry, silentLogger } from '@fairlead/observability';
import { eventually, scratchDir, testAuthority, type TestAuthority } from '@fairlead/testing';
import type { ReplicaOptions } from './replica-options.js';
import { signingRpc, type Asked } from './signing-rpc.js';
import { TestCa } from './test-ca.js';
import { TestGitops } from './test-gitops.js';
import { startAgent, type RunningAgent, type StartAgentOptions } from './test-agent.js';
import { testDirectory, type TestDirectory } from './test-directory.js';

export interface Replica {
  readonly name: string;
  readonly gateway: Gateway;
  readonly registry: Registry;
  readonly refusals: Refusal[];
  /** What was told of streams into clusters. */
  readonly streams: StreamEvent[];
  /** What was told of the administrator's token. */
  readonly administrators: AdministratorUse[];
  /** What it reported to registration. */
  readonly problems: LinkProblem[];
  readonly facts: ClusterFacts[];
  stop(): Promise<void>;
}

export interface TestInstallation extends TestDirectory, AsyncDisposable {
  /** Whose root is the first one; agents begin with certificates of it. */
  readonly authority: TestAuthority;
  /** What signs by now. */
  readonly ca: TestCa;
  readonly gitops: TestGitops;
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

const LEASE_MS = 3_000;

/** A real nats-server with production permissions, and replicas and agents in this process with real sockets and TLS. */
export async function startInstallation(): Promise<TestInstallation> {
  const dir = await scratchDir();
  const nats = await startSecuredNats(dir.path);
  const authority = await testAuthority();
  const registrationNats = await nats.connect({ role: 'registration', credential: 'registration' });
  const accessNats = await nats.connect({ role: 'access', credential: 'access' });
  const stops: (() => Promise<void>)[] = [];
  const replicas: Replica[] = [];

  const keysNats = await nats.connect({ role: 'keys', credential: 'keys' });
  const directory = await testDirectory({ registration: registrationNats, access: accessNats, keys: keysNats });
  const ca = new TestCa(authority);
  const gitops = new TestGitops(await nats.connect({ role: 'gitops', credential: 'gitops' }));
  const publishTrust = async (entry?: TrustEntry): Promise<void> =>
    putKv(keysNats, BUCKETS.trust, TRUST_KEY, entry ?? (await ca.bundle()));
  await publishTrust();
  const cluster = await directory.addCluster('demo');
  const token = await directory.addToken({ user: 'admin', groups: ['fairlead:admins'] });

  return {
    authority,
    ca,
    gitops,
    publishTrust,
    loseTrust: () => deleteKv(keysNats, BUCKETS.trust, TRUST_KEY),
    nats,
    cluster,
    token,
    ...directory,
    addCluster: async (name, generation) => {
      const added = await directory.addCluster(name, generation);
      for (const replica of replicas) await eventually(() => requireKnown(added, replica), { intervalMs: 5 });
      return added;
    },
    startReplica: async (name, options = {}) => {
      const replica = await startReplica(nats, { ca, gitops }, name, options);
      replicas.push(replica);
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

/** A replica that does not know a cluster yet refuses its agent, who then waits for a minute. */
function requireKnown({ clusterId, name }: ClusterEntry, { gateway, name: replica }: Replica): void {
  const { clusters } = gateway.debugView() as { readonly clusters: readonly { readonly clusterId: string }[] };
  const leaves = gateway.readiness().some((check) => check.name === 'draining' && !check.ok);
  if (!leaves && !clusters.some((known) => known.clusterId === clusterId))
    throw new Error(`${replica}: no ${name} yet`);
}

function doorNames({ clusterDomain }: ReplicaOptions): string[] {
  return ['127.0.0.1', ...(clusterDomain === undefined ? [] : ['localhost', `*.${clusterDomain}`])];
}

async function startReplica(nats: SecuredNats, asked: Asked, name: string, options: ReplicaOptions): Promise<Replica> {
  const nc = await nats.connect({ role: 'gateway', credential: name });
  const stopping = new AbortController();
  const registry = new Registry();
  const events = options.events?.(nc, name);
  const refusals: Refusal[] = [];
  const streams: StreamEvent[] = [];
  const administrators: AdministratorUse[] = [];
  const problems: LinkProblem[] = [];
  const facts: ClusterFacts[] = [];
  const audit =
    options.audit && (await openAudit({ ...options.audit, replica: name }, registry, options.logger ?? silentLogger));
  const gateway = await startGateway(
    {
      credential: name,
      nc,
      audit,
      rpc: signingRpc(asked, name, problems, facts),
      events: {
        agentConnected: (session) => events?.agentConnected(session),
        agentDisconnected: (session) => events?.agentDisconnected(session),
        accessRefused: (refusal) => {
          refusals.push(refusal);
          events?.accessRefused(refusal);
        },
        stream: (event) => {
          streams.push(event);
          events?.stream(event);
        },
        administratorUsed: (use) => {
          administrators.push(use);
          events?.administratorUsed(use);
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
      clusterDomain: options.clusterDomain,
      egressRules: (options.allowEgress ?? []).map(parseEgressRule),
      egressLimits: options.egressLimits,
      ...(options.metricsClusters === undefined ? {} : { metricsClusters: options.metricsClusters }),
      doorCertificate: options.doorFiles ?? { names: doorNames(options) },
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
    await audit?.[Symbol.asyncDispose]();
  };
  return { name, gateway, registry, refusals, streams, administrators, problems, facts, stop };
}
