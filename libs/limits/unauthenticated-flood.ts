/** From so many a second on they are a flood. Probes of load balancers, and users whose token is not valid, are fewer. */
const FLOOD_PER_SECOND = 5;
/** What a flood leaves behind is garbage for a while. */
const AFTERMATH_MS = 90_000;

let ended = 0;

/** A connection of this process has ended, or was refused, whose peer had not shown who it is. */
export function noteUnauthenticatedEnd(): void {
  ended += 1;
}

/** Is this process flooded by peers that have not shown who they are? Told by their connections that end. */
export class UnauthenticatedFlood {
  readonly #nowMs: () => number;
  #seen = ended;
  #askedAtMs: number;
  #lastAtMs = -Infinity;

  /** `nowMs`: of a clock that never goes back. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
    this.#askedAtMs = nowMs();
  }

  /** Did five and more of them end each second since this was asked before (a second ago, or longer), or was it so in the last minute and a half? */
  isOn(): boolean {
    const nowMs = this.#nowMs();
    const seconds = (nowMs - this.#askedAtMs) / 1_000;
    const areMany = ended - this.#seen >= FLOOD_PER_SECOND * Math.max(1, seconds);
    if (areMany) this.#lastAtMs = nowMs;
    if (areMany || seconds >= 1) [this.#seen, this.#askedAtMs] = [ended, nowMs];
    return nowMs - this.#lastAtMs <= AFTERMATH_MS;
  }
}
