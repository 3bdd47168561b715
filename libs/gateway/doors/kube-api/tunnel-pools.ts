import { createHash } from 'node:crypto';
import { Agent, type ClientRequest, type RequestOptions } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ClusterEntry } from '@fairlead/contracts';
import { toFairleadError } from '@fairlead/errors';
import type { TunnelIdentity } from '@fairlead/kube-http';
import type { TraceContext } from '@fairlead/tunnel/core';
import type { OpenedTunnel, TunnelOpener, TunnelWay } from '@fairlead/tunnel/gateway';
import type { CarriedStatement } from './carried-statement.js';

/** Idle tunnels kept per cluster and identity: as many as a controller has requests at once. An idle one costs 25 KB here and as much at the agent. */
const MAX_IDLE = 32;
const IDLE_MS = 30_000;
/** Pools remembered; the one unused for longest goes first. */
const MAX_POOLS = 2_000;

/** Of a request through a tunnel: what it is part of, for a tunnel that is opened because of it. */
export interface TunnelRequestOptions extends RequestOptions {
  readonly trace: TraceContext;
}

type OpenTunnel = (trace: TraceContext) => Promise<Duplex>;
type Connected = (error: Error | null, stream: Duplex) => void;

const ways = new WeakMap<Duplex, OpenedTunnel>();

/** Which way a pooled tunnel takes, for as long as it is there. */
export function wayOf(tunnel: Duplex): TunnelWay | undefined {
  return ways.get(tunnel);
}

/** Whether a pooled tunnel is gone because its way is, the link or the replica that it went over, and not by the far end's word. */
export function lostItsWay(tunnel: Duplex | null): boolean {
  const state = tunnel === null ? undefined : ways.get(tunnel)?.connection.state;
  return state?.phase === 'closed' && state.cause === 'lost';
}

/** A pool ends its own sockets, and tells who asked for a tunnel why there is none. */
export class TunnelPool extends Agent {
  readonly #open: OpenTunnel;
  readonly #idle = new WeakMap<Duplex, NodeJS.Timeout>();

  constructor(open: OpenTunnel, keepAlive = true) {
    super({ keepAlive, maxFreeSockets: MAX_IDLE });
    this.#open = open;
  }

  /** The same way, but never a tunnel that was used before. */
  fresh(): Agent {
    return new TunnelPool(this.#open, false);
  }

  override keepSocketAlive(tunnel: Duplex): boolean {
    const timer = setTimeout(() => tunnel.destroy(), IDLE_MS);
    this.#idle.set(tunnel, timer.unref());
    return true;
  }

  override reuseSocket(tunnel: Duplex, request: ClientRequest): void {
    clearTimeout(this.#idle.get(tunnel));
    // Marks the request as one that may meet a tunnel that died while idle.
    super.reuseSocket(tunnel, request);
  }

  override createConnection(options: object, callback?: Connected): undefined {
    // Node passes on all that the request was given.
    void this.#connect((options as TunnelRequestOptions).trace, callback);
  }

  async #connect(trace: TraceContext, callback: Connected | undefined): Promise<void> {
    let tunnel: Duplex;
    try {
      tunnel = await this.#open(trace);
    } catch (error) {
      callback?.(toFairleadError(error), undefined as never);
      return;
    }
    callback?.(null, tunnel);
  }
}

/**
 * Idle tunnels to kube-apiservers, one pool per cluster, enrolment, identity and statement: a tunnel serves one of these for life,
 * so a request can only ever reuse a tunnel of the same user with the same groups.
 */
export class TunnelPools {
  readonly #opener: TunnelOpener;
  readonly #pools = new Map<string, TunnelPool>();

  constructor(opener: TunnelOpener) {
    this.#opener = opener;
  }

  /** The pool for this identity in this cluster, and for the statement that it is shown by. */
  poolFor(cluster: ClusterEntry, identity: TunnelIdentity, statement?: CarriedStatement): TunnelPool {
    const key = poolKey(cluster, identity, statement);
    const known = this.#pools.get(key);
    const agent =
      known ?? new TunnelPool((trace) => this.#dial(cluster, { ...identity, statement: statement?.envelope }, trace));
    // Re-inserting keeps the map in order of use.
    this.#pools.delete(key);
    this.#pools.set(key, agent);
    if (this.#pools.size > MAX_POOLS) this.#dropOldest();
    return agent;
  }

  /** Ends what is idle. Those in use end with their requests, or with the link that they go over. */
  close(): void {
    for (const agent of this.#pools.values()) endIdle(agent);
    this.#pools.clear();
  }

  async #dial(
    cluster: ClusterEntry,
    { user, groups, extra, statement }: TunnelIdentity & { readonly statement: Uint8Array | undefined },
    trace: TraceContext,
  ): Promise<Duplex> {
    const value = {
      $typeName: 'fairlead.link.v1.KubeApi' as const,
      user,
      groups: [...groups],
      extra: extra.map((item) => ({
        $typeName: 'fairlead.link.v1.Extra' as const,
        key: item.key,
        values: [...item.values],
      })),
      statement: statement ?? new Uint8Array(),
    };
    const target = { case: 'kubeApi' as const, value };
    const opened = await this.#opener.open(cluster, target, new AbortController().signal, trace);
    ways.set(opened.connection, opened);
    return opened.connection;
  }

  /** Idle tunnels of the dropped pool end; those in use go on, held by their requests. */
  #dropOldest(): void {
    const [oldest] = this.#pools;
    if (!oldest) return;
    this.#pools.delete(oldest[0]);
    endIdle(oldest[1]);
  }
}

function endIdle({ freeSockets }: TunnelPool): void {
  for (const sockets of Object.values(freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

/** A digest of everything the far end will act on, the statement's among it. Lengths are part of JSON, so no two identities share one. */
function poolKey(cluster: ClusterEntry, identity: TunnelIdentity, statement?: CarriedStatement): string {
  const { user, groups, extra } = identity;
  const parts = [cluster.clusterId, cluster.generation, user, groups, extra, statement?.digest];
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64');
}
