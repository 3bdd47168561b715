import type { AgentIdentity } from './agent-identity.js';

const DAY_MS = 86_400_000;
/** A rotation takes three. So many that an agent of a few weeks takes whatever anybody does (`highestVersion`), also from `raise-trust`. */
const A_DAY = 1_000;

type TrustSince = NonNullable<AgentIdentity['trustSince']>;

/** What two clocks of this process say: of the wall now, and as it was when the process began, with what has passed since. */
export interface OwnTime {
  readonly wallMs: number;
  readonly unmovedMs: number;
}

/** They differ by what somebody moved the wall clock by in the meantime. */
export function ownTime(): OwnTime {
  return { wallMs: Date.now(), unmovedMs: Math.floor(performance.timeOrigin + performance.now()) };
}

/**
 * The highest version of the trust bundle that this agent takes now: 1,000 above its first one for each day since it had that, begun ones too.
 * The days go by no matter whether anything was taken in them: an agent that was away may catch up with what others took meanwhile, and
 * one that an honest version is too high for takes it some days later. What counts from is stored with the identity, and never changes: neither many
 * small steps nor a restart gain anything. Of two clocks the one counts by which fewer days have passed; only a start by a clock that is
 * ahead gains days, and then `highestVersion` is still the bound. Infinity: none is held yet, so that it alone is the bound.
 */
export function highestFor(identity: AgentIdentity, time = ownTime()): number {
  if (identity.trustVersion === 0) return Infinity;
  const { version, atMs } = trustSince(identity, identity.trustVersion, time);
  const passedMs = Math.max(0, Math.min(time.wallMs, time.unmovedMs) - atMs);
  return version + A_DAY * (1 + Math.floor(passedMs / DAY_MS));
}

/** What counts from when `identity` goes on with `version`: the first one, and when that was. */
export function trustSince(
  { trustVersion, trustSince: known }: Pick<AgentIdentity, 'trustVersion' | 'trustSince'>,
  version: number,
  { wallMs, unmovedMs } = ownTime(),
): TrustSince {
  const isFirst = trustVersion === 0 || known === undefined;
  return isFirst ? { version: trustVersion || version, atMs: Math.max(wallMs, unmovedMs) } : known;
}
