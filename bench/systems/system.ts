import type { SystemName } from '../rows.js';

/** How the load generator enters a system (bench/go/load/way.go). */
export interface Way {
  /** `host:port`; empty: the target itself. */
  readonly address: string;
  /** Mutual TLS, PEM; all three empty for plain TCP. The key is a secret. */
  readonly caPem: string;
  readonly certPem: string;
  readonly keyPem: string;
  /** Whether the target is asked for with HTTP CONNECT. */
  readonly connect: boolean;
}

/** How the load generator asks a Kubernetes API (bench/go/load/api.go). Key and token are secrets. */
export interface KubeApi {
  /** What the API's own paths begin behind. */
  readonly url: string;
  readonly caPem: string;
  readonly certPem?: string;
  readonly keyPem?: string;
  readonly token?: string;
}

export interface Entrance {
  readonly way: Way;
  /** Instead of the way, where a Kubernetes API is at the end. */
  readonly api?: KubeApi;
  /** `host:port` of the target's two ports, as the far end of the way reaches them. */
  readonly target: string;
  readonly banner: string;
}

/** What a client comes to, and what stands beside the target. */
export type Part = 'gateway' | 'agent';
export const PARTS: readonly Part[] = ['gateway', 'agent'];

/** Agents that only keep their links to the gateway. */
export interface IdleAgents {
  link(): Promise<void>;
  unlink(): Promise<void>;
}

/** What a gateway tells of its audit, and what all do that stand behind it. */
export interface AuditProbe {
  /** That it has answered so far, warm-ups included. */
  requests(): Promise<number>;
  /** Group syncs of its spool so far; 0 where it keeps none. */
  syncs(): Promise<number>;
  /** Records that all gateways have handed on so far, and how many wait in spools. */
  records(): Promise<{ readonly forwarded: number; readonly waiting: number }>;
  /** Entries that the audit service has made of them so far. */
  entries(): Promise<number>;
  /** CPU seconds so far, all children included. */
  cpu(): Promise<DownstreamCpu>;
}

export interface DownstreamCpu {
  readonly service: number;
  readonly postgres: number;
  readonly nats: number;
}

/** One way from the client to the target, and its processes. */
export interface System {
  readonly name: SystemName;
  readonly entrance: Entrance;
  /** The processes of a part; none for the direct way. Throws BenchError if one does not run. */
  pids(part: Part): readonly number[];
  /** SIGKILL; resolves when the part is gone. */
  kill(part: Part): Promise<void>;
  /** Starts what was killed; resolves when its processes run, ready or not. */
  start(part: Part): Promise<void>;
  /** The same with an agent that is linked to both replicas: entered through the second, while `gateway` is the first. */
  withTwoLinks?(): Promise<System>;
  /** Of the area `audit`. */
  readonly audit?: AuditProbe;
  /** So many more agents that do nothing, not linked yet; made when they are first asked for. */
  idleAgents?(count: number): Promise<IdleAgents>;
}

export const PLAIN: Way = { address: '', caPem: '', certPem: '', keyPem: '', connect: false };
