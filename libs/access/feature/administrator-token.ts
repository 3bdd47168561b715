import { DEFAULT_TENANT } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { withAdvisoryLock } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';
import { revokedToken } from '../domain/revoked.js';
import { ADMINISTRATOR, identityOf } from '../domain/token-identity.js';
import { hashOfSecret } from '../domain/token-secret.js';
import { addRevoked } from '../store/revocation-store.js';
import { deleteToken, findTokenByName, insertToken, type StoredApiToken } from '../store/token-store.js';
import { actorOf, commit, tell, type Runtime } from './runtime.js';

const MIN_CHARACTERS = 32;

/** Makes this, and only this, the administrator's token. INVALID_ARGUMENT if it is short enough to be guessed. */
export async function setAdministratorToken(runtime: Runtime, secret: string): Promise<void> {
  checkAdministratorToken(secret);
  const tokenHash = hashOfSecret(secret);
  await commit(runtime, async (manager) => {
    await withAdvisoryLock(manager, 'administrator-token');
    const named = { tenantId: DEFAULT_TENANT, kind: 'administrator', name: ADMINISTRATOR } as const;
    const existing = await findTokenByName(manager, named);
    if (existing?.tokenHash === tokenHash) return;
    if (existing) {
      await deleteToken(manager, existing.id);
      await addRevoked(manager, existing.tenantId, [revokedToken('administrator', existing.id, runtime.now())]);
      await tellOf(runtime, manager, 'dev.fairlead.api-token.revoked.v1', existing);
    }
    const created: StoredApiToken = {
      id: crypto.randomUUID(),
      ...named,
      tokenHash,
      createdBy: runtime.source.credential,
      createdAt: runtime.now(),
      expiresAt: null,
      lastUsedAt: null,
      revokedAt: null,
    };
    await insertToken(manager, created);
    await tellOf(runtime, manager, 'dev.fairlead.api-token.created.v1', created);
  });
}

function tellOf(
  runtime: Runtime,
  manager: EntityManager,
  type: 'dev.fairlead.api-token.created.v1' | 'dev.fairlead.api-token.revoked.v1',
  token: StoredApiToken,
): Promise<void> {
  const { id: tokenId, tenantId } = token;
  return tell(runtime, manager, type, {
    tenantId,
    tokenId,
    user: identityOf(token).user,
    subject: `api-token/${tokenId}`,
    actor: actorOf(runtime.source),
    reason: 'OK',
  });
}

/**
 * A token that people may have chosen themselves must be long, and of what a door reads as one secret: `~` stands between a secret and a statement.
 * INVALID_ARGUMENT.
 */
export function checkAdministratorToken(secret: string): void {
  if (secret.length < MIN_CHARACTERS) {
    throw refused(`the token needs at least ${MIN_CHARACTERS} characters`);
  }
  if (!/^[A-Za-z0-9._+/-]+=*$/.test(secret)) {
    throw refused(
      'the token may hold letters, digits and . _ + / - only, with = at its end; make one with: openssl rand -hex 32',
    );
  }
}

function refused(why: string): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', `FAIRLEAD_ADMIN_TOKEN_FILE: ${why}`);
}
