import { DEFAULT_TENANT, type Principal } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { withAdvisoryLock } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';
import { hashSecret } from '../domain/secret-hash.js';
import {
  deleteApiToken,
  findApiTokenByHash,
  findApiTokenByName,
  insertApiToken,
  type StoredApiToken,
} from '../store/token-store.js';
import { actorOf, commit, read, tell, type Runtime } from './runtime.js';

const ADMIN = { name: 'admin', user: 'admin', groups: ['fairlead:admins'] };
const MIN_ADMIN_TOKEN_CHARACTERS = 32;

/** Tokens of the admin API. Only hashes are stored. */
export class ApiTokens {
  constructor(private readonly runtime: Runtime) {}

  /** Whose token hashes (SHA-256, base64) to this? UNAUTHENTICATED if nobody's. */
  async authenticate(tokenHash: string): Promise<Principal> {
    const token = await read(this.runtime, (manager) => findApiTokenByHash(manager, tokenHash));
    const now = this.runtime.now().getTime();
    if (!token || (token.expiresAt !== null && token.expiresAt.getTime() <= now)) {
      throw new FairleadError('UNAUTHENTICATED', 'the API token is not known, or it has expired');
    }
    const { id: tokenId, tenantId, user, groups } = token;
    return { tenantId, tokenId, user, groups };
  }

  /** Makes this, and only this, the administrator's token. INVALID_ARGUMENT if it is short enough to be guessed. */
  async setAdminToken(token: string): Promise<void> {
    checkAdminToken(token);
    const tokenHash = hashSecret(token);
    await commit(this.runtime, async (manager) => {
      await withAdvisoryLock(manager, 'admin-token');
      const existing = await findApiTokenByName(manager, DEFAULT_TENANT, ADMIN.name);
      if (existing?.tokenHash === tokenHash) return;
      if (existing) await this.#revoke(manager, existing);
      const created = { id: crypto.randomUUID(), tenantId: DEFAULT_TENANT, ...ADMIN, tokenHash, expiresAt: null };
      await insertApiToken(manager, created);
      await this.#tell(manager, 'dev.fairlead.api-token.created.v1', created);
    });
  }

  async #revoke(manager: EntityManager, token: StoredApiToken): Promise<void> {
    await deleteApiToken(manager, token.id);
    await this.#tell(manager, 'dev.fairlead.api-token.revoked.v1', token);
  }

  #tell(
    manager: EntityManager,
    type: 'dev.fairlead.api-token.created.v1' | 'dev.fairlead.api-token.revoked.v1',
    { id: tokenId, tenantId, user }: StoredApiToken,
  ): Promise<void> {
    const actor = actorOf(this.runtime.source);
    return tell(this.runtime, manager, type, {
      tenantId,
      tokenId,
      user,
      subject: `api-token/${tokenId}`,
      actor,
      reason: 'OK',
    });
  }
}

/** A token that people may have chosen themselves must at least be long. */
export function checkAdminToken(token: string): void {
  if (token.length < MIN_ADMIN_TOKEN_CHARACTERS) {
    throw new FairleadError(
      'INVALID_ARGUMENT',
      `FAIRLEAD_ADMIN_TOKEN_FILE: the token needs at least ${MIN_ADMIN_TOKEN_CHARACTERS} characters`,
    );
  }
}
