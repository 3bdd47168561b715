import {
  identityStore,
  parseEndpoint,
  runAgent,
  type Agent,
  type HandoverMaps,
  type KubeApiTarget,
  type Resolve,
  type TextStore,
} from '@fairlead/agent';
import type { ClusterEntry } from '@fairlead/contracts';
import type { Gateway } from '@fairlead/gateway';
import { silentLogger, type Logger, type Registry, type Tracer } from '@fairlead/observability';
import { parseTargetRule } from '@fairlead/targets';
import { eventually, type TestAuthority } from '@fairlead/testing';

export interface StartAgentOptions {
  readonly replicas: readonly { readonly gateway: Gateway }[];
  readonly apiPort: number;
  /** A real kube-apiserver instead of one that has the installation's certificates, and that port. */
  readonly kubeApi?: KubeApiTarget;
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
  /** What its store holds when it starts, as another one's at its end; default an identity that is made for it. */
  readonly stored?: Readonly<Record<string, string>>;
  /** A bootstrap token to enrol with, in place of an identity. */
  readonly token?: string;
  readonly logger?: Logger;
  /** Rules for raw TCP targets; default none. */
  readonly allowTargets?: readonly string[];
  /** Upstreams that it listens for, on loopback. */
  readonly egress?: readonly { readonly host: string; readonly port: number }[];
  readonly resolve?: Resolve;
  readonly registry?: Registry;
  /** Where it hands over desired state; default nowhere. */
  readonly handover?: { readonly maps: HandoverMaps; readonly observeMs?: number };
  /** Of its cluster, as it says; default nothing that is true. */
  readonly facts?: Parameters<typeof runAgent>[0]['facts'];
  readonly tracer?: Tracer;
  /** How long what runs through it may go on when it is stopped; default 0: all of it is cut. */
  readonly drainMs?: number;
  /** Do not wait for the links: the test is about their absence. */
  readonly expectRefusal?: boolean;
}

export interface RunningAgent {
  readonly agent: Agent;
  /** Where it listens, in the order of `egress`. */
  readonly egressPorts: readonly number[];
  /** What its store holds. */
  readonly stored: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** Resolves once its links stand. */
export async function startAgent(
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
  const values: Record<string, string> = { ...(options.stored ?? (options.token === undefined ? { identity } : {})) };
  const store: TextStore = {
    read: () => Promise.resolve({ values }),
    write: (changed) => Promise.resolve(void Object.assign(values, changed)),
  };
  let egressPorts: readonly number[] = [];
  const links = options.links ?? 1;
  const agent = runAgent(
    {
      endpoints: (options.endpoints ?? options.replicas.map(({ gateway }) => gateway.link.address)).map(parseEndpoint),
      proxy: { noProxy: [] },
      pins: [],
      links,
      drainMs: options.drainMs ?? 0,
      store: identityStore(store),
      token: () => Promise.resolve(options.token ?? null),
      kubeApi: options.kubeApi ?? {
        host: '127.0.0.1',
        port: options.apiPort,
        caPem: authority.roots.join('\n'),
        token: () => Promise.resolve('the-service-account-token'),
      },
      tcp: {
        rules: (options.allowTargets ?? []).map(parseTargetRule),
        ...(options.resolve ? { resolve: options.resolve } : {}),
      },
      ...(options.egress
        ? {
            egress: {
              host: '127.0.0.1',
              ports: options.egress.map((upstream) => ({ port: 0, upstream })),
              onListening: (ports) => (egressPorts = ports),
            },
          }
        : {}),
      handover: options.handover,
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
    egressPorts,
    stored: values,
    stop: async () => {
      stopping.abort();
      await agent.done;
    },
  };
}

/** Of a certificate that ends then: now, or a minute before an end that is over. */
function beginOf(notAfter: Date): Date {
  const nowMs = Date.now();
  return new Date(notAfter.getTime() > nowMs ? nowMs : notAfter.getTime() - 60_000);
}
