import type { TokenKind } from '@fairlead/contracts';
import type { EntityManager } from 'typeorm';

/** A secret that somebody shows, as far as it is stored, and whose it is. */
export interface Credential {
  readonly tokenId: string;
  readonly tenantId: string;
  readonly kind: TokenKind;
  readonly tokenHash: string;
  readonly user: string;
  /** What it has in every cluster without a grant: only the administrator's has any. */
  readonly groups: readonly string[];
  /** Of the issuer. */
  readonly subjectGroups: readonly string[];
  /** Null: never. */
  readonly expiresAt: Date | null;
  /** Of a person's login: the session that it renews. */
  readonly sessionId?: string;
}

/** One kind of secrets with a table of its own: API tokens, logins. */
export interface CredentialSource {
  /** Whose secret hashes to this, if it is good at `now`. */
  readonly find: (manager: EntityManager, tokenHash: string, now: Date) => Promise<Credential | null>;
  /** All that are good at `now`: what gateways know. */
  readonly all: (manager: EntityManager, now: Date) => Promise<readonly Credential[]>;
  /** Somebody has shown it at `now`. Never waits. */
  readonly onUsed?: (credential: Credential, now: Date) => void;
}
