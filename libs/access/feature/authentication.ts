import { isOfInstallation, type ApiRole, type Principal } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { EntityManager } from 'typeorm';
import { isEnded } from '../store/ended-tenant-store.js';
import type { Credential, CredentialSource } from './credentials.js';
import { read, type Runtime } from './runtime.js';

/** What are they at the admin API of the tenant? */
export type ApiRolesOf = (manager: EntityManager, credential: Credential, now: Date) => Promise<readonly ApiRole[]>;

export interface AuthenticationOptions {
  /** Asked in this order. */
  readonly sources: readonly CredentialSource[];
  readonly apiRolesOf: ApiRolesOf;
}

/** Who is it that shows a secret? */
export class Authentication {
  constructor(
    private readonly runtime: Runtime,
    private readonly options: AuthenticationOptions,
  ) {}

  /** Whose secret hashes (SHA-256, base64) to this? UNAUTHENTICATED if nobody's, or if it has expired. */
  async authenticate(tokenHash: string): Promise<Principal> {
    const now = this.runtime.now();
    return read(this.runtime, async (manager) => {
      for (const source of this.options.sources) {
        const credential = await source.find(manager, tokenHash, now);
        if (!credential || (await this.#isOfEndedTenant(manager, credential))) continue;
        source.onUsed?.(credential, now);
        return this.#principal(manager, credential, now);
      }
      throw new FairleadError('UNAUTHENTICATED', 'the API token is not known, or it has expired');
    });
  }

  /** The installation's own tenant never ends: nobody of it waits for that answer. */
  async #isOfEndedTenant(manager: EntityManager, { tenantId }: Credential): Promise<boolean> {
    return !isOfInstallation(tenantId) && isEnded(manager, tenantId);
  }

  async #principal(manager: EntityManager, credential: Credential, now: Date): Promise<Principal> {
    const { tenantId, tokenId, kind, user, groups, subjectGroups, expiresAt } = credential;
    const roles = await this.options.apiRolesOf(manager, credential, now);
    return {
      tenantId,
      tokenId,
      kind,
      user,
      groups: [...groups],
      subjectGroups: [...subjectGroups],
      administrator: roles.includes('administrator'),
      auditor: roles.includes('auditor'),
      expiresAt: expiresAt?.toISOString() ?? null,
    };
  }
}
