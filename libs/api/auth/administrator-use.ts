import type { Principal } from '@fairlead/contracts';
import { BoundedMap } from '@fairlead/limits';

const PACE_MS = 60_000;
const MAX_TOKENS = 1_000;

interface Told {
  readonly atMs: number;
  suppressed: number;
}

/** Which uses of the administrator's token are told: it is the way in when all else is away, so each is to be heard, and none may fill the log. */
export class AdministratorUse {
  readonly #told = new BoundedMap<string, Told>({ max: MAX_TOKENS, overflow: 'forget-oldest' });

  constructor(private readonly nowMs: () => number) {}

  /** How many uses were not told since the last that was; null: this one is not told either, or is of somebody else. */
  next({ kind, tokenId }: Pick<Principal, 'kind' | 'tokenId'>): number | null {
    if (kind !== 'administrator') return null;
    const nowMs = this.nowMs();
    const last = this.#told.get(tokenId);
    if (last && nowMs - last.atMs < PACE_MS) {
      last.suppressed += 1;
      return null;
    }
    this.#told.set(tokenId, { atMs: nowMs, suppressed: 0 });
    return last?.suppressed ?? 0;
  }
}
