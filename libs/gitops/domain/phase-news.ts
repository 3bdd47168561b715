import type { Phase } from '@fairlead/desired-state';
import { KeyedRateLimit } from '@fairlead/limits';

/** Of one cluster, at one replica: an event is kept for everybody, and many would push out those of others. */
const RATE = { burst: 5, perSecond: 1 / 60 };
const MAX_CLUSTERS = 20_000;

/** Which changes of phase become events: five at once of a cluster, then one a minute; the last is told when it is its turn. */
export class PhaseNews {
  readonly #rates = new KeyedRateLimit(RATE, MAX_CLUSTERS);
  readonly #untold = new Set<string>();

  /** To be asked at each report of the cluster. */
  isToBeTold(clusterId: string, before: Phase | null, phase: Phase, nowMs: number): boolean {
    if (!isNews(phase) || (phase === before && !this.#untold.has(clusterId))) return false;
    const told = this.#rates.take(clusterId, nowMs);
    if (told) this.#untold.delete(clusterId);
    else if (this.#untold.size < MAX_CLUSTERS) this.#untold.add(clusterId);
    return told;
  }
}

/** The others are steps on the way to one of these. */
function isNews(phase: Phase): boolean {
  return phase === 'healthy' || phase === 'degraded' || phase === 'escalated' || phase === 'off';
}
