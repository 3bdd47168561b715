import { randomUUID } from 'node:crypto';
import { FairleadError, toFairleadError } from '@fairlead/errors';
import type { Span, SpanAttributes, TraceContext } from '@fairlead/observability';
import type { TunnelWay } from '@fairlead/tunnel/gateway';
import { limitKey } from '../limits/limit-key.js';
import type { DoorLimiter, Slot } from '../limits/door-limiter.js';
import { DOORS, type DoorName } from './door-table.js';
import type { LiveConnection, LiveConnections, PassageSubject } from './live-connections.js';
import { needsIntent } from './needs-intent.js';
import type { Asked, Ending, Failed, Grounds, Identity, Outcome } from './outcome.js';

/** Something that came to a door. */
export interface Arrival {
  /** Where the peer is; of a connection out of a cluster, its agent. */
  readonly address: string;
  readonly asked: Asked;
  /** What it is part of, if it says so. */
  readonly caller: TraceContext | undefined;
  readonly span: { readonly name: string; readonly attributes?: SpanAttributes };
  /** The tunnel that it came by, if it did. */
  readonly way?: TunnelWay;
}

/** What a passage goes by in the registry of its replica, once it is let in. */
export interface Registered extends Pick<LiveConnection, 'heldBytes' | 'refusedNow' | 'lapsedNow' | 'end' | 'leave'> {
  readonly bytes: () => { readonly up: number; readonly down: number };
  /** What it is for, asked when somebody wants to know. Absent: what the door is for, and the target. */
  readonly subject?: () => PassageSubject;
}

export interface PassageSources {
  readonly door: DoorName;
  readonly ingress: string;
  readonly limiter: DoorLimiter;
  readonly live: LiveConnections;
  readonly span: Span;
  /** Told of whoever has proved who they are, before it is known whether they may. */
  readonly onIdentified: (identity: Identity, address: string, asked: Asked) => void;
  /** Told once of a passage that has got what was asked for. `addedMs`: what it took here and as far as the agent, where that is known. */
  readonly onConnected: (via: TunnelWay['via'], addedMs: number | undefined) => void;
  /** Told of a passage that may change something, before anything of it goes on; it waits for what this returns. */
  readonly onIntent: (outcome: Outcome) => Promise<void> | undefined;
  /** Told at once of a passage that goes on as a connection, and not only when it is over. */
  readonly onEstablished: (outcome: Outcome) => void;
  /** What the peer is told of a failure. */
  readonly statusOf: (failure: FairleadError) => number;
}

const NO_BYTES = { up: 0, down: 0 };
/** As long as these are the answer, no agent had a part in it. */
const NO_AGENT: ReadonlySet<string> = new Set(['AGENT_OFFLINE', 'AGENT_RECONNECTING', 'AGENT_OVERLOADED']);

/**
 * One passage through a door: who asks, whether they may, what it takes of the limits, what carries it. The door calls the
 * stages, each once, but `ask` as often as it knows more, and `opened` for each tunnel that is tried. What a stage takes is given back once, by `release`, however the passage ends.
 */
export class Passage {
  /** Unique; the client is told it where there is a way to. */
  readonly requestId = randomUUID();
  readonly span: Span;
  readonly address: string;
  readonly #from: PassageSources;
  readonly #startedMs = performance.now();
  readonly #startedAtMs = Date.now();
  readonly #releases: (() => void)[] = [];
  #asked: Asked;
  #identity: Identity | undefined;
  #grounds: Grounds | undefined;
  #cluster: Outcome['cluster'];
  #slot: Slot | undefined;
  #way: TunnelWay | undefined;
  #dialled: string | undefined;
  #openMs: number | undefined;
  #bytes: () => typeof NO_BYTES = () => NO_BYTES;
  /** What it is limited by has room for it. */
  #hasRoom = false;
  #intended = false;
  /** This replica has let it go on: nothing has to be waited for any more. What fails before is a refusal of its own. */
  #mayGo = false;
  #endedBy: FairleadError | undefined;
  #established = false;
  #connected = false;
  #peerLeft = false;

  constructor(arrival: Arrival, sources: PassageSources) {
    this.#from = sources;
    this.#asked = arrival.asked;
    this.#way = arrival.way;
    this.span = sources.span;
    this.address = arrival.address;
  }

  get traceId(): string {
    return this.span.context.traceId;
  }

  /** Why it was broken off by us, if it was: its access ended. */
  get endedBy(): FairleadError | undefined {
    return this.#endedBy;
  }

  /** Somebody has proved who asks. */
  identify(identity: Identity): void {
    this.#identity = identity;
    this.#from.onIdentified(identity, this.address, this.#asked);
  }

  /** It is known by which grants this is decided, and as whom it goes on if not as who asks. */
  decided(grounds: Grounds): void {
    this.#grounds = grounds;
  }

  /** What is asked for is known, or more of it. */
  ask(asked: Partial<Asked>): void {
    this.#asked = { ...this.#asked, ...asked };
  }

  /** It may go on, to this cluster. RATE_LIMITED when that has too much. */
  admit({ clusterId, name }: NonNullable<Outcome['cluster']>): void {
    this.#cluster = { clusterId, name };
    this.#useCluster();
  }

  /**
   * Takes a slot of whoever asks, and of the cluster once that is known; unless told otherwise, also among those that wait for their target.
   * RATE_LIMITED; UNAVAILABLE when the replica has no room.
   */
  limit({ waits = true }: { readonly waits?: boolean } = {}): void {
    if (this.#slot || !this.#identity)
      throw new FairleadError('INTERNAL', 'a passage is limited once, by its identity');
    const slot = this.#from.limiter.take(limitKey(this.#identity.tenantId, this.#identity.id));
    this.#slot = slot;
    this.#releases.push(() => slot.release());
    if (!waits) slot.opened();
    this.#useCluster();
  }

  /** Doors ask in the order that their protocol has: what it is for may be known before its slot is taken, or after it. */
  #useCluster(): void {
    if (!this.#cluster || !this.#slot) return;
    this.#slot.useCluster(this.#cluster.clusterId);
    this.#hasRoom = true;
  }

  /**
   * Every door calls it once it knows what is asked for, and lets nothing go on before what it returns has resolved: that this is about to happen is on
   * record then, if it may change anything. Undefined: nothing has to be waited for. AUDIT_UNAVAILABLE; INTERNAL unless it was admitted, and has a slot.
   */
  letGo(): Promise<void> | undefined {
    if (!this.#hasRoom) throw new FairleadError('INTERNAL', 'a passage is let go once it was admitted and limited');
    const onRecord = needsIntent(this.#from.door, this.#asked) ? this.#intend() : undefined;
    if (!onRecord) this.#mayGo = true;
    return onRecord?.then(() => void (this.#mayGo = true));
  }

  #intend(): Promise<void> | undefined {
    this.#intended = true;
    return this.#from.onIntent({ ...this.outcome({ kind: 'carried', cause: 'OPEN' }), decision: 'allowed' });
  }

  /** Its target is there: by this tunnel, or at this address. INTERNAL if the door did not wait for `letGo`. */
  opened({ way, dialled }: { readonly way?: TunnelWay | undefined; readonly dialled?: string | undefined }): void {
    if (!this.#mayGo) throw new FairleadError('INTERNAL', 'a passage is opened once `letGo` has let it go on');
    this.#slot?.opened();
    this.#openMs = performance.now() - this.#startedMs;
    this.#way = way ?? this.#way;
    this.#dialled = dialled;
  }

  /** Who asked has what it asked for. `beyondMs`: what of the time until now nobody of ours has spent, if that is known. */
  connected(beyondMs?: number): void {
    if (this.#connected) return;
    this.#connected = true;
    const addedMs = beyondMs === undefined ? undefined : performance.now() - this.#startedMs - beyondMs;
    // A clock that is wrong, or a lie: of no use to anybody.
    this.#from.onConnected(this.#way?.via ?? 'own', addedMs !== undefined && addedMs >= 0 ? addedMs : undefined);
  }

  /** Who asked has gone. */
  peerLeft(): void {
    this.#peerLeft = true;
  }

  /** Both ends have switched to another protocol: an auditor is told now, as it may go on for days. */
  established(status: number): void {
    this.span.event('switched');
    this.#established = true;
    this.#from.onEstablished(this.outcome({ kind: 'carried', cause: 'OPEN', status }));
  }

  /** From now on it is among what goes through the doors: shown, metered, and broken off when its access ends. */
  register({ bytes, subject, heldBytes, refusedNow, lapsedNow, end, leave }: Registered): void {
    const [identity, cluster] = [this.#identity, this.#cluster];
    if (!identity || !cluster) throw new FairleadError('INTERNAL', 'a passage is registered once it was admitted');
    this.#bytes = bytes;
    const { target } = this.#asked;
    const forget = this.#from.live.add({
      door: this.#from.door,
      id: this.#way?.tunnelId ?? this.requestId,
      who: identity.id,
      tenantId: identity.tenantId,
      clusterId: cluster.clusterId,
      address: this.address,
      sinceMs: Date.now(),
      ...(target ? { target: `${target.host}:${target.port}` } : {}),
      shown: () => ({
        ...(subject ? subject() : this.#usualSubject()),
        cluster: cluster.name,
        user: identity.name,
        as: this.#grounds?.as ?? null,
        owner: this.#way?.replica ?? (this.#way ? this.#from.ingress : null),
      }),
      bytesUp: () => bytes().up,
      bytesDown: () => bytes().down,
      heldBytes,
      refusedNow,
      ...(lapsedNow ? { lapsedNow } : {}),
      end: (cause) => {
        this.#endedBy = cause;
        end(cause);
      },
      ...(leave ? { leave } : {}),
    });
    this.#releases.push(forget);
  }

  #usualSubject(): PassageSubject {
    const { target } = this.#asked;
    return { kind: DOORS[this.#from.door].kind, target: target ? `${target.host}:${target.port}` : '' };
  }

  /** How it ended, after this was thrown. If it was broken off by us, that is why. */
  endingOf(error: unknown): Failed {
    const failure = this.#endedBy ?? toFairleadError(error);
    const isBeyond = this.#mayGo && !this.#endedBy && !NO_AGENT.has(failure.code);
    const hop = isBeyond ? DOORS[this.#from.door].beyond : 'gateway';
    return { kind: 'failed', failure, status: this.#from.statusOf(failure), hop };
  }

  /** Gives back all that the stages took, the last first. More often than once does nothing. */
  release(): void {
    for (const release of this.#releases.splice(0).toReversed()) release();
  }

  /** What is known of it, now that it is over. */
  outcome(ending: Ending): Outcome {
    const { up, down } = this.#bytes();
    return {
      door: this.#from.door,
      requestId: this.requestId,
      traceId: this.traceId,
      ingress: this.#from.ingress,
      address: this.address,
      identity: this.#identity,
      grounds: this.#grounds,
      tenantId: this.#identity?.tenantId,
      cluster: this.#cluster,
      asked: this.#asked,
      way: this.#way && wayFrom(this.#way, this.#from.ingress),
      dialled: this.#dialled,
      decision: this.#mayGo ? 'allowed' : 'refused',
      intended: this.#intended,
      ending,
      bytesUp: up,
      bytesDown: down,
      startedAtMs: this.#startedAtMs,
      openMs: this.#openMs,
      established: this.#established,
      connected: this.#connected,
      peerLeft: this.#peerLeft,
      durationMs: performance.now() - this.#startedMs,
    };
  }
}

/** Whoever hands over a tunnel may hand over more with it. */
function wayFrom({ tunnelId, via, replica, sessionId }: TunnelWay, ingress: string): Outcome['way'] {
  return { tunnelId, via, replica: replica ?? ingress, sessionId };
}
