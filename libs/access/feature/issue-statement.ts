import {
  type accessRpc,
  grantsKeys,
  scopeFilter,
  subjectsOf,
  type ClusterEntry,
  type Grant,
  type IssuedStatement,
  type Principal,
} from '@fairlead/contracts';
import { MAX_LOGIN_STATEMENT_MS, type AccessStatement } from '@fairlead/access-statement';
import { FairleadError } from '@fairlead/errors';
import { statementFor } from '../domain/statement.js';
import { grantsOfKeys } from '../store/grant-store.js';
import { findLockdown, type StoredLockdown } from '../store/lockdown-store.js';
import type { Authentication } from './authentication.js';
import type { KeysPort } from './keys-port.js';
import type { KnownClusters } from './known-clusters.js';
import { read, type Runtime } from './runtime.js';
import type { z } from 'zod';

type Asked = z.output<(typeof accessRpc)['issueStatement']['input']>;

interface IssuingWith {
  readonly authentication: Authentication;
  readonly clusters: Pick<KnownClusters, 'get'>;
  readonly keys: KeysPort;
}

interface Looked {
  readonly grants: readonly Grant[];
  readonly locked: StoredLockdown | null;
}

/** Says what somebody may do in one cluster, and has it signed. */
export class IssueStatement {
  constructor(
    private readonly runtime: Runtime,
    private readonly using: IssuingWith,
  ) {}

  /** See `accessRpc.issueStatement`. */
  async issue({ tokenHash, cluster: clusterName, seconds }: Asked): Promise<IssuedStatement> {
    const { authentication, clusters, keys } = this.using;
    const principal = await authentication.authenticate(tokenHash);
    const { tenantId } = principal;
    const cluster = clusters.get(tenantId, clusterName);
    const { grants, locked } = await this.#lookAt(principal, cluster);
    // First: to whoever has nothing there, nothing is locked down either.
    const statement = statementFor({ principal, cluster, grants, seconds, now: this.runtime.now() });
    if (locked) {
      throw new FairleadError('FORBIDDEN', `the cluster "${cluster.name}" is locked down: ${locked.reason}`);
    }
    const document = new TextEncoder().encode(JSON.stringify(statement));
    const { envelope, openUntil } = await keys.signAccessStatement(tenantId, document);
    const seen = isBreakGlass(statement) ? ('warn' as const) : ('info' as const);
    this.runtime.logger.log(seen, 'statement.issued', {
      tenantId,
      clusterId: cluster.clusterId,
      tokenId: principal.tokenId,
      kind: principal.kind,
      user: principal.user,
      serial: statement.serial,
      openUntil,
    });
    return { envelope, openUntil, streamsUntil: statement.streamsUntil };
  }

  /** Of their grants those that mean this cluster, now or later, and whether they are locked out of it. */
  async #lookAt(principal: Principal, cluster: ClusterEntry): Promise<Looked> {
    if (principal.kind === 'administrator') return { grants: [], locked: null };
    const { tenantId } = principal;
    const keysOfGrants = subjectsOf(principal).map((subject) => grantsKeys.subject(tenantId, subject));
    return read(this.runtime, async (manager) => {
      const grants = await grantsOfKeys(manager, keysOfGrants);
      const locked =
        (await findLockdown(manager, tenantId, null)) ?? (await findLockdown(manager, tenantId, cluster.name));
      return { grants: grants.filter((grant) => scopeFilter(grant.clusters)(cluster)), locked };
    });
  }
}

/** It opens the cluster to the administrator when nobody is there to ask: not to be made unseen. */
function isBreakGlass({ kind, notBefore, openUntil }: AccessStatement): boolean {
  return kind === 'administrator' && Date.parse(openUntil) - Date.parse(notBefore) > MAX_LOGIN_STATEMENT_MS;
}
