import { identityOf } from '../domain/token-identity.js';
import { findLivingToken, livingTokens, type StoredApiToken } from '../store/token-store.js';
import type { Credential, CredentialSource } from './credentials.js';

/** API tokens, the administrator's among them. */
export function apiTokenCredentials(onUsed?: CredentialSource['onUsed']): CredentialSource {
  return {
    find: async (manager, tokenHash, now) => {
      const token = await findLivingToken(manager, tokenHash, now);
      return token && toCredential(token);
    },
    all: async (manager, now) => (await livingTokens(manager, now)).map(toCredential),
    ...(onUsed ? { onUsed } : {}),
  };
}

function toCredential(token: StoredApiToken): Credential {
  const { id: tokenId, tenantId, kind, tokenHash, expiresAt } = token;
  return { tokenId, tenantId, kind, tokenHash, expiresAt, ...identityOf(token), subjectGroups: [] };
}
