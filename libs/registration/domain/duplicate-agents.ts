/** An agent that died without a word is linked for up to 13 s beside the one that took its place; this is longer. */
export const TAKES_PLACE_MS = 20_000;
/**
 * Kubernetes takes a rollout for stuck after ten minutes (`progressDeadlineSeconds`), and agents say within fifteen that their Deployment was
 * scaled; this is longer.
 */
export const ROLLOUT_MS = 20 * 60_000;
/** A cluster that had one agent for this long has a new appearance the next time. */
const APART_MS = 10 * 60_000;
/** Longer ago is another visit, and not the time between two looks. */
const MAX_STEP_MS = 5_000;

interface Seen {
  /** When there were several the last time. */
  lastMs: number;
  /** How long there were several, all told. */
  togetherMs: number;
  /** Processes at once when it was told; 0: it was not. */
  reported: number;
}

/**
 * Which clusters have come to have several agents. Told once per appearance, and again when there are more at once than ever:
 * those that come and go are one appearance, whose time adds up, until they stay away for ten minutes.
 */
export class DuplicateAgents {
  readonly #seen = new Map<string, Seen>();
  readonly #togetherMs: number;

  /** `togetherMs`: how long there may be several. */
  constructor(togetherMs = TAKES_PLACE_MS) {
    this.#togetherMs = togetherMs;
  }

  /** What is to be told now. `several` is how many processes at once, for each cluster with too many; look every second or so. */
  observe(several: ReadonlyMap<string, number>, nowMs: number): string[] {
    const news: string[] = [];
    for (const [clusterId, count] of several) {
      const seen = this.#seen.get(clusterId) ?? { lastMs: nowMs, togetherMs: 0, reported: 0 };
      this.#seen.set(clusterId, seen);
      const stepMs = nowMs - seen.lastMs;
      if (stepMs <= MAX_STEP_MS) seen.togetherMs += stepMs;
      seen.lastMs = nowMs;
      if (seen.togetherMs < this.#togetherMs || count <= seen.reported) continue;
      seen.reported = count;
      news.push(clusterId);
    }
    for (const [clusterId, { lastMs }] of this.#seen) if (nowMs - lastMs > APART_MS) this.#seen.delete(clusterId);
    return news;
  }

  /** It could not be told: it is news again after a while. */
  forget(clusterId: string): void {
    this.#seen.delete(clusterId);
  }
}
