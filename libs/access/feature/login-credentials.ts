import { findLoginByHash, standingLogins, type StoredLogin } from '../store/login-store.js';
import type { Credential, CredentialSource } from './credentials.js';

/** Logins of people and programs: they have no groups but by grants. */
export const loginCredentials: CredentialSource = {
  find: async (manager, tokenHash, now) => {
    const login = await findLoginByHash(manager, tokenHash, now);
    return login && toCredential(login);
  },
  all: async (manager, now) => (await standingLogins(manager, now)).map(toCredential),
};

function toCredential(login: StoredLogin): Credential {
  const { id: tokenId, tenantId, kind, tokenHash, userName: user, subjectGroups, expiresAt } = login;
  const session = login.sessionId === null ? {} : { sessionId: login.sessionId };
  return { tokenId, tenantId, kind, tokenHash, user, groups: [], subjectGroups, expiresAt, ...session };
}
