import {
  grantsKeys,
  scopeFilter,
  subjectsOf,
  type ClusterEntry,
  type Grant,
  type Principal,
} from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { statementFor } from '../domain/statement.js';
import { grantsOfKeys } from '../store/grant-store.js';
import { findLockdown } from '../store/lockdown-store.js';
import type { Authentication } from './authentication.js';
import type { KeysPort } from './keys-port.js';
import type { KnownClusters } from './known-clusters.js';
import { read, type Runtime } from './runtime.js';

export interface IssuedStatement {
  /** Base64. */
  readonly envelope: string;
  readonly openUntil: string;
  readonly streamsUntil: string;
}

interface IssuingWith {
  readonly authentication: Authentication;
  readonly clusters: Pick<KnownClusters, 'get'>;
  readonly keys: KeysPort;
}

/** Says what somebody may do in one cluster, and has it signed. */
export class IssueStatement {
  constructor(
    private readonly runtime: Runtime,
    private readonly using: IssuingWith,
  ) {}

  /** See `accessRpc.issueStatement`. */
  async issue(tokenHash: string, clusterName: string): Promise<IssuedStatement> {
    const { authentication, clusters, keys } = this.using;
    const principal = await authentication.authenticate(tokenHash);
    const { tenantId } = principal;
    const cluster = clusters.get(tenantId, clusterName);
    const grants = principal.kind === 'administrator' ? [] : await this.#grantsOf(principal, cluster);
    const statement = statementFor({ principal, cluster, grants, now: this.runtime.now() });
    const document = new TextEncoder().encode(JSON.stringify(statement));
    const { envelope, openUntil } = await keys.signAccessStatement(tenantId, document);
    this.runtime.logger.info('statement.issued', {
      tenantId,
      clusterId: cluster.clusterId,
      tokenId: principal.tokenId,
      user: principal.user,
      serial: statement.serial,
      openUntil,
    });
    return { envelope, openUntil, streamsUntil: statement.streamsUntil };
  }

  /** Those that mean this cluster, now or later. FORBIDDEN while it is locked down. */
  async #grantsOf(principal: Principal, cluster: ClusterEntry): Promise<Grant[]> {
    const { tenantId } = principal;
    const keysOfGrants = subjectsOf(principal).map((subject) => grantsKeys.subject(tenantId, subject));
    return read(this.runtime, async (manager) => {
      const locked =
        (await findLockdown(manager, tenantId, null)) ?? (await findLockdown(manager, tenantId, cluster.name));
      if (locked) {
        throw new FairleadError('FORBIDDEN', `the cluster "${cluster.name}" is locked down: ${locked.reason}`);
      }
      const grants = await grantsOfKeys(manager, keysOfGrants);
      return grants.filter((grant) => scopeFilter(grant.clusters)(cluster));
    });
  }
}
