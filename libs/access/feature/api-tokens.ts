import { pageOf, type ApiToken, type Caller } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { withAdvisoryLock } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';
import { revokedToken } from '../domain/revoked.js';
import { identityOf } from '../domain/token-identity.js';
import { hashOfSecret, newTokenSecret } from '../domain/token-secret.js';
import { addRevoked } from '../store/revocation-store.js';
import {
  countLivingTokens,
  countTokens,
  deleteRevokedTokens,
  findTokenByName,
  insertToken,
  listTokens,
  lockToken,
  markRevoked,
  type StoredApiToken,
} from '../store/token-store.js';
import { commit, operatorOf, read, tell, type Runtime } from './runtime.js';
import { holdRoom, type QuotasOf } from './tenant-quotas.js';

const PAGE_ROWS = 200;
/** Of a tenant; those that were revoked within `KEEP_REVOKED_MS` count. */
const MAX_TOKENS = 10_000;
/** So long a revoked one is listed. */
const KEEP_REVOKED_MS = 90 * 86_400_000;

interface NewToken {
  readonly name: string;
  /** Null: never. */
  readonly expiresAt: string | null;
  /** Who makes it. */
  readonly by: string;
}

/** Tokens that administrators make for programs. Only hashes are stored. */
export class ApiTokens {
  constructor(
    private readonly runtime: Runtime,
    private readonly quotasOf: QuotasOf,
  ) {}

  /**
   * The secret is told this once. ALREADY_EXISTS if one of this name is not revoked, also if it has expired: what is granted to a token is
   * granted to its name. INVALID_ARGUMENT for an end that has passed, CONFLICT if the tenant has too many, QUOTA_EXCEEDED if it has as many as it may.
   */
  async create(caller: Caller, tenantId: string, input: NewToken): Promise<{ token: ApiToken; secret: string }> {
    const secret = newTokenSecret();
    const token = this.#newRow(tenantId, input, hashOfSecret(secret));
    const quotas = await this.quotasOf(tenantId);
    const count = (manager: EntityManager): Promise<number> => countLivingTokens(manager, tenantId, token.createdAt);
    await commit(this.runtime, async (manager) => {
      await withAdvisoryLock(manager, `api-tokens.${tenantId}`);
      await deleteRevokedTokens(manager, tenantId, new Date(token.createdAt.getTime() - KEEP_REVOKED_MS));
      if (await findTokenByName(manager, token)) {
        throw new FairleadError('ALREADY_EXISTS', `there is an API token ${token.name} already`);
      }
      if ((await countTokens(manager, tenantId)) >= MAX_TOKENS) {
        throw new FairleadError(
          'CONFLICT',
          `there are ${MAX_TOKENS} API tokens already; revoked ones go after 90 days`,
        );
      }
      await holdRoom(manager, tenantId, quotas, { what: 'apiTokens', count });
      await insertToken(manager, token);
      const { name } = token;
      const expiresAt = token.expiresAt?.toISOString() ?? null;
      await tell(this.runtime, manager, 'dev.fairlead.api-token.created.v1', {
        ...about(caller, token, input.by),
        name,
        expiresAt,
      });
    });
    return { token: show(token), secret };
  }

  /** By id, those that were revoked lately too; as many as fit in an answer. `next` is the id to go on after. */
  async list(tenantId: string, after: string | undefined): Promise<{ items: ApiToken[]; next?: string }> {
    const rows = await read(this.runtime, (manager) => listTokens(manager, tenantId, { after, limit: PAGE_ROWS }));
    return pageOf(rows.map(show), PAGE_ROWS, ({ id }) => id);
  }

  /** It is worth nothing from now on: at gateways within two seconds. Again: no change, and no event. NOT_FOUND. */
  async revoke(caller: Caller, tenantId: string, id: string, by: string): Promise<ApiToken> {
    return commit(this.runtime, async (manager) => {
      const token = await lockToken(manager, tenantId, id);
      if (!token) throw new FairleadError('NOT_FOUND', `there is no API token ${id}`);
      if (token.revokedAt) return show(token);
      const revokedAt = this.runtime.now();
      await markRevoked(manager, id, revokedAt);
      await addRevoked(manager, tenantId, [revokedToken('token', id, revokedAt)]);
      const { name } = token;
      await tell(this.runtime, manager, 'dev.fairlead.api-token.revoked.v1', { ...about(caller, token, by), name });
      return show({ ...token, revokedAt });
    });
  }

  #newRow(tenantId: string, { name, expiresAt, by }: NewToken, tokenHash: string): StoredApiToken {
    const createdAt = this.runtime.now();
    const end = expiresAt === null ? null : new Date(expiresAt);
    if (end && end <= createdAt) {
      throw new FairleadError('INVALID_ARGUMENT', `an API token that ends at ${expiresAt} would have ended already`);
    }
    const id = crypto.randomUUID();
    const kind = 'token';
    return {
      id,
      tenantId,
      kind,
      name,
      tokenHash,
      createdBy: by,
      createdAt,
      expiresAt: end,
      lastUsedAt: null,
      revokedAt: null,
    };
  }
}

function about(caller: Caller, token: StoredApiToken, by: string) {
  const { id: tokenId, tenantId } = token;
  const { user } = identityOf(token);
  return { tenantId, tokenId, user, subject: `api-token/${tokenId}`, actor: operatorOf(caller, by), reason: 'OK' };
}

function show({
  id,
  tenantId,
  name,
  createdBy,
  createdAt,
  expiresAt,
  lastUsedAt,
  revokedAt,
}: StoredApiToken): ApiToken {
  return {
    id,
    tenantId,
    name,
    createdBy,
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt?.toISOString() ?? null,
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
    revokedAt: revokedAt?.toISOString() ?? null,
  };
}
