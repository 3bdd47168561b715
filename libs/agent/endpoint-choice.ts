import type { Clock } from '@fairlead/clock';
import type { LinkEndpoint } from '@fairlead/pki';
import { parseEndpoint, type Endpoint } from './forward-proxy.js';

/** What the control plane said of where gateways are. */
export interface KnownEndpoints {
  readonly endpoints?: readonly LinkEndpoint[] | undefined;
  /** Named before, and no more: dialled last, until one that is named now has worked. */
  readonly formerEndpoints?: readonly Pick<LinkEndpoint, 'address' | 'serverName'>[] | undefined;
  /** Where this agent is; absent: nowhere in particular. */
  readonly region?: string | undefined;
}

/** Those of a lower rank are dialled first. */
const RANK = { near: 0, active: 1, draining: 2, old: 3 } as const;
type Rank = (typeof RANK)[keyof typeof RANK];

interface Ranked {
  readonly endpoint: Endpoint;
  readonly rank: Rank;
  readonly weight: number;
}

/** How soon a link is to go to a better endpoint, once one answers; `stay`: not for its endpoint's sake. */
export type Urgency = 'soon' | 'at-leisure' | 'stay';

/** What a dial came to that kept no link. */
export type Miss = 'failed' | 'same-replica' | 'left';

/** An endpoint that reached so much is away: two failures, or four dials to a replica that was linked already. */
const AWAY = 4;
const COUNTS: Readonly<Record<Miss, number>> = { failed: 2, 'same-replica': 1, left: 0 };
/** Then the next rank is tried, for so long. */
const AWAY_MS = 60_000;

/**
 * Which endpoint to dial next: those that are named first, of the agent's own region before others, then draining ones, then the
 * import manifest's own and former ones. Within these, links are to reach distinct replicas, and not the one that has just failed.
 */
export class EndpointChoice {
  readonly #own: readonly Endpoint[];
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #random: () => number;
  /** Links and dials of ours, by endpoint. */
  readonly #used = new Map<string, number>();
  /** When an endpoint last failed us or drained, monotonic milliseconds. */
  readonly #lastProblemMs = new Map<string, number>();
  /** What came of the dials since it last worked, by `COUNTS`. */
  readonly #missed = new Map<string, number>();
  /** Named at any time: an import manifest's own that was is left when it no longer is. */
  readonly #named = new Set<string>();
  #ranked: readonly Ranked[];

  /** `own`: of the import manifest, never empty. */
  constructor(own: readonly Endpoint[], clock: Pick<Clock, 'monotonicMs'>, random = Math.random) {
    this.#own = own;
    this.#clock = clock;
    this.#random = random;
    this.#ranked = own.map(asOld);
  }

  /** How many there are. */
  get size(): number {
    return this.#ranked.length;
  }

  /** What is dialled from now on. */
  follow({ endpoints = [], formerEndpoints = [], region }: KnownEndpoints): void {
    const [{ serverName } = {}] = this.#own;
    const read = ({
      address,
      serverName: own = serverName,
    }: Pick<LinkEndpoint, 'address' | 'serverName'>): Endpoint => ({
      ...parseEndpoint(address),
      ...(own === undefined ? {} : { serverName: own }),
    });
    const named = endpoints.map((one) => ({ endpoint: read(one), rank: rankOf(one, region), weight: one.weight }));
    const former = formerEndpoints.map(read);
    for (const endpoint of [...named.map((each) => each.endpoint), ...former]) this.#named.add(nameOf(endpoint));
    const all = [...named, ...this.#own.map(asOld), ...former.map(asOld)];
    this.#ranked = [...new Map(all.toReversed().map((each) => [nameOf(each.endpoint), each])).values()].toReversed();
  }

  /**
   * Of the lowest rank that is open, or else of all: the endpoint fewest of our links use or try; of those, the one whose last
   * problem is longest ago; then at random, by weight.
   */
  pick(): Endpoint {
    return this.#best(this.#lowestOpen(this.#ranked) ?? this.#ranked).endpoint;
  }

  /** One that is active and of a lower rank than this, which is open; null: there is none. */
  better(than: Endpoint): Endpoint | null {
    const below = Math.min(this.#rankOf(than), RANK.draining);
    const open = this.#lowestOpen(this.#ranked.filter(({ rank }) => rank < below));
    return open && this.#best(open).endpoint;
  }

  /** How soon a link there is to be replaced, if a better one is there. */
  urgency(endpoint: Endpoint): Urgency {
    const rank = this.#rankOf(endpoint);
    if (!this.#ranked.some((each) => each.rank < Math.min(rank, RANK.draining))) return 'stay';
    if (rank === RANK.active) return 'at-leisure';
    return rank === RANK.draining || this.#named.has(nameOf(endpoint)) ? 'soon' : 'stay';
  }

  /** Is it one that is named now and not to be left? */
  isActive(endpoint: Endpoint): boolean {
    return this.#rankOf(endpoint) < RANK.draining;
  }

  /** Counts an endpoint as used, until the returned function is called. */
  occupy(endpoint: Endpoint): () => void {
    const name = nameOf(endpoint);
    this.#used.set(name, (this.#used.get(name) ?? 0) + 1);
    return () => void this.#used.set(name, (this.#used.get(name) ?? 1) - 1);
  }

  /** It failed us, or wants to be left. */
  avoid(endpoint: Endpoint, miss: Miss): void {
    const name = nameOf(endpoint);
    this.#lastProblemMs.set(name, this.#clock.monotonicMs());
    this.#missed.set(name, (this.#missed.get(name) ?? 0) + COUNTS[miss]);
  }

  /** A link stands there. */
  worked(endpoint: Endpoint): void {
    this.#missed.delete(nameOf(endpoint));
  }

  #rankOf(endpoint: Endpoint): Rank {
    const name = nameOf(endpoint);
    return this.#ranked.find((each) => nameOf(each.endpoint) === name)?.rank ?? RANK.old;
  }

  /** The endpoints of the lowest rank in which not all that no link of ours uses are away; where each has one, in which not all are. */
  #lowestOpen(among: readonly Ranked[]): readonly Ranked[] | null {
    for (const rank of Object.values(RANK)) {
      const ofRank = among.filter((each) => each.rank === rank);
      const unused = ofRank.filter((each) => this.#loadOf(each) === 0);
      if (!(unused.length > 0 ? unused : ofRank).every((each) => this.#isAway(each))) return ofRank;
    }
    return null;
  }

  #loadOf({ endpoint }: Ranked): number {
    return this.#used.get(nameOf(endpoint)) ?? 0;
  }

  #isAway({ endpoint }: Ranked): boolean {
    const name = nameOf(endpoint);
    if ((this.#missed.get(name) ?? 0) < AWAY) return false;
    return this.#clock.monotonicMs() - (this.#lastProblemMs.get(name) ?? 0) < AWAY_MS;
  }

  #best(among: readonly Ranked[]): Ranked {
    const load = (each: Ranked): number => this.#loadOf(each);
    // By the smallest of exponential variates, each is the first as often as its weight says.
    const order = new Map(among.map((each) => [each, -Math.log(1 - this.#random()) / each.weight]));
    const orderOf = (each: Ranked): number => order.get(each) ?? 0;
    const lastProblem = (each: Ranked): number => this.#lastProblemOf(each);
    const sorted = among.toSorted(
      (a, b) => load(a) - load(b) || lastProblem(a) - lastProblem(b) || orderOf(a) - orderOf(b),
    );
    return sorted[0] as Ranked;
  }

  /** Of those that are named, an old problem would outweigh all weights for good. */
  #lastProblemOf({ endpoint, rank }: Ranked): number {
    const atMs = this.#lastProblemMs.get(nameOf(endpoint)) ?? 0;
    return rank < RANK.old && this.#clock.monotonicMs() - atMs >= AWAY_MS ? 0 : atMs;
  }
}

/** As it is written in logs. */
export function nameOf({ host, port }: Endpoint): string {
  return `${host.toLowerCase()}:${port}`;
}

const asOld = (endpoint: Endpoint): Ranked => ({ endpoint, rank: RANK.old, weight: 1 });

function rankOf({ state, region }: LinkEndpoint, own: string | undefined): Rank {
  if (state === 'draining') return RANK.draining;
  return own === undefined || region === own ? RANK.near : RANK.active;
}
