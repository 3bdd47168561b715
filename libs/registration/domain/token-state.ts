import type { BootstrapToken } from '@fairlead/contracts';

/** What decides about the state of a bootstrap token. */
export interface TokenFacts {
  readonly expiresAt: Date;
  readonly revokedAt: Date | null;
  /** The key that spent it; null while nobody did. */
  readonly boundSpkiSha256: string | null;
}

/** Revoked counts before used: not even the key that spent it gets another answer. */
export function tokenState({ expiresAt, revokedAt, boundSpkiSha256 }: TokenFacts, now: Date): BootstrapToken['state'] {
  if (revokedAt) return 'revoked';
  if (boundSpkiSha256 !== null) return 'used';
  return expiresAt.getTime() <= now.getTime() ? 'expired' : 'unused';
}
