import { quantile } from '../support/pool.js';
import type { Way } from '../support/transfers.js';
import type { Port } from './kinds.js';
import { askUntil } from './user.js';

/** So many floods of one port are judged by one measurement: it takes as long as half a flood. */
const FLOODS = 4;

/** The p99 of a user whom nobody disturbs, measured anew for each port and every few floods of it: machines are not the same all day. */
export class IdleFigures {
  readonly #way: Way;
  readonly #known = new Map<Port, { readonly p99Ms: number; floods: number }>();

  constructor(way: Way) {
    this.#way = way;
  }

  /** To be called while nobody floods. */
  async p99Ms(port: Port, pings: number): Promise<number> {
    const known = this.#known.get(port);
    if (known && known.floods < FLOODS) {
      known.floods += 1;
      return known.p99Ms;
    }
    const { ms } = await askUntil(this.#way, (asked) => asked >= pings);
    const p99Ms = quantile(ms, 0.99);
    this.#known.set(port, { p99Ms, floods: 1 });
    return p99Ms;
  }
}
