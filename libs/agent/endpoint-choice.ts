import type { Clock } from '@fairlead/clock';
import type { Endpoint } from './forward-proxy.js';

/** Which endpoint to dial next: links are to reach distinct replicas, and not the one that has just failed. */
export class EndpointChoice {
  readonly #endpoints: readonly Endpoint[];
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** Links and dials of ours, by endpoint. */
  readonly #used = new Map<string, number>();
  /** When an endpoint last failed us or drained, monotonic milliseconds. */
  readonly #troubled = new Map<string, number>();

  constructor(endpoints: readonly Endpoint[], clock: Pick<Clock, 'monotonicMs'>) {
    this.#endpoints = endpoints;
    this.#clock = clock;
  }

  /** The endpoint fewest of our links use or try; of those, the one whose last trouble is longest ago; then at random. */
  pick(): Endpoint {
    const load = (endpoint: Endpoint): number => this.#used.get(nameOf(endpoint)) ?? 0;
    const trouble = (endpoint: Endpoint): number => this.#troubled.get(nameOf(endpoint)) ?? 0;
    const shuffled = this.#endpoints.map((endpoint) => ({ endpoint, order: Math.random() }));
    shuffled.sort(
      (a, b) => load(a.endpoint) - load(b.endpoint) || trouble(a.endpoint) - trouble(b.endpoint) || a.order - b.order,
    );
    return (shuffled[0] as { endpoint: Endpoint }).endpoint;
  }

  /** Counts an endpoint as used, until the returned function is called. */
  occupy(endpoint: Endpoint): () => void {
    const name = nameOf(endpoint);
    this.#used.set(name, (this.#used.get(name) ?? 0) + 1);
    return () => void this.#used.set(name, (this.#used.get(name) ?? 1) - 1);
  }

  /** It failed us, or wants to be left. */
  avoid(endpoint: Endpoint): void {
    this.#troubled.set(nameOf(endpoint), this.#clock.monotonicMs());
  }
}

/** As it is written in logs. */
export function nameOf({ host, port }: Endpoint): string {
  return `${host}:${port}`;
}
