/** What is known of a bootstrap token when somebody presents it, with the right secret. */
export interface PresentedToken {
  readonly expiresAt: Date;
  readonly revokedAt: Date | null;
  /** The key that it is good for since it was shown, and the enrolment that this made; none while that key waits for an approval. */
  readonly bound: { readonly spkiSha256: string; readonly generation: number | null } | null;
}

type EnrolmentDecision =
  /** Spend the token on this key, and count a new enrolment. */
  | { readonly kind: 'bind'; readonly generation: number }
  /** The key that spent it asks again, because the answer was lost. */
  | { readonly kind: 'repeat'; readonly generation: number }
  | TokenRefusal;

interface TokenRefusal {
  readonly kind: 'refuse';
  readonly code: 'TOKEN_EXPIRED' | 'TOKEN_REVOKED' | 'TOKEN_USED';
  readonly reason: string;
}

/**
 * A token is good for one key, until it expires: a repetition with the same key succeeds, another key never does.
 * `generation` is the cluster's current enrolment; `lastGeneration` the highest number that was given to one.
 */
export function decideEnrolment(
  token: PresentedToken,
  cluster: { readonly generation: number; readonly lastGeneration: number },
  spkiSha256: string,
  now: Date,
): EnrolmentDecision {
  const { bound } = token;
  const refused = refuseToken(token, spkiSha256, now);
  if (refused) return refused;
  if (!bound || bound.generation === null) return { kind: 'bind', generation: cluster.lastGeneration + 1 };
  if (bound.generation !== cluster.generation) {
    return { kind: 'refuse', code: 'TOKEN_REVOKED', reason: 'the cluster has enrolled again since' };
  }
  return { kind: 'repeat', generation: bound.generation };
}

/** Why the token is worth nothing to this key; null while it is good. */
export function refuseToken(
  { bound, revokedAt, expiresAt }: PresentedToken,
  spkiSha256: string,
  now: Date,
): TokenRefusal | null {
  if (bound && bound.spkiSha256 !== spkiSha256) {
    return { kind: 'refuse', code: 'TOKEN_USED', reason: 'the bootstrap token was used by another key' };
  }
  if (revokedAt) {
    return {
      kind: 'refuse',
      code: 'TOKEN_REVOKED',
      reason: 'this bootstrap token was revoked: a newer import manifest replaced it, or an administrator ended it',
    };
  }
  if (expiresAt.getTime() <= now.getTime()) {
    return {
      kind: 'refuse',
      code: 'TOKEN_EXPIRED',
      reason: 'the bootstrap token has expired; fetch a new import manifest',
    };
  }
  return null;
}
