import type { ApprovalPolicy, Caller } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { EntityManager } from 'typeorm';
import { effectivePolicy } from '../domain/approval-policy.js';
import {
  findCluster,
  findClusterByName,
  setClusterPolicy,
  setTenantPolicy,
  tenantPolicy,
  type StoredCluster,
} from '../store/cluster-store.js';
import { actorOf, commit, read, tell, type Runtime } from './runtime.js';

export interface ApprovalOptions {
  /** What counts where neither the cluster nor the tenant has chosen. */
  readonly policy: ApprovalPolicy;
  /** Is there a program to ask? Without one, `webhook` cannot be chosen. */
  readonly webhookConfigured: boolean;
  /** May `insecure-always-approve` be chosen, and does it count? */
  readonly insecureAllowed: boolean;
}

export interface ShownPolicy {
  readonly set: ApprovalPolicy | null;
  readonly effective: ApprovalPolicy;
}

/** Who decides about enrolments, of each cluster and tenant. */
export class ApprovalPolicies {
  constructor(
    private readonly runtime: Runtime,
    private readonly options: ApprovalOptions,
  ) {
    const insecure = options.policy === 'insecure-always-approve' || options.insecureAllowed;
    if (insecure) runtime.logger.warn('approval.insecure_allowed', { policy: options.policy });
  }

  /** What counts for a cluster; for an agent without one, what counts for its tenant. */
  async effective(
    manager: EntityManager,
    tenantId: string,
    cluster: Pick<StoredCluster, 'approvalPolicy'> | null,
  ): Promise<ApprovalPolicy> {
    return this.#effective(cluster?.approvalPolicy ?? null, await tenantPolicy(manager, tenantId));
  }

  /** The same for a cluster by its id. */
  async effectiveOf(manager: EntityManager, tenantId: string, clusterId: string | null): Promise<ApprovalPolicy> {
    return this.effective(manager, tenantId, clusterId === null ? null : await findCluster(manager, clusterId));
  }

  /** Of the named cluster, or of the tenant. NOT_FOUND. */
  async get(tenantId: string, name: string | undefined): Promise<ShownPolicy> {
    return read(this.runtime, async (manager) => {
      const ofTenant = await tenantPolicy(manager, tenantId);
      if (name === undefined) return { set: ofTenant, effective: this.#effective(null, ofTenant) };
      const { approvalPolicy } = await findClusterByName(manager, tenantId, name);
      return { set: approvalPolicy, effective: this.#effective(approvalPolicy, ofTenant) };
    });
  }

  /** Null: no choice here. NOT_FOUND; FORBIDDEN, INVALID_ARGUMENT for a policy that the configuration does not allow. */
  async set(
    caller: Caller,
    tenantId: string,
    name: string | undefined,
    policy: ApprovalPolicy | null,
  ): Promise<ShownPolicy> {
    if (policy === 'insecure-always-approve' && !this.options.insecureAllowed) {
      throw new FairleadError(
        'FORBIDDEN',
        'insecure-always-approve lets anybody in; it needs FAIRLEAD_INSECURE_ALLOW_ALWAYS_APPROVE=true at the registration service',
      );
    }
    if (policy === 'webhook' && !this.options.webhookConfigured) {
      throw new FairleadError(
        'INVALID_ARGUMENT',
        'there is no webhook to ask: set FAIRLEAD_APPROVAL_WEBHOOK_URL and its secret at the registration service first',
      );
    }
    await commit(this.runtime, async (manager) => {
      const cluster = name === undefined ? null : await findClusterByName(manager, tenantId, name);
      if (cluster) await setClusterPolicy(manager, cluster.id, policy);
      else await setTenantPolicy(manager, tenantId, policy);
      await tell(this.runtime, manager, 'dev.fairlead.approval-policy.changed.v1', {
        tenantId,
        clusterId: cluster?.id ?? null,
        policy,
        subject: cluster ? `cluster/${cluster.id}` : `tenant/${tenantId}`,
        actor: actorOf(caller),
        reason: 'OK',
      });
    });
    return this.get(tenantId, name);
  }

  #effective(cluster: ApprovalPolicy | null, tenant: ApprovalPolicy | null): ApprovalPolicy {
    const { policy: configured, insecureAllowed } = this.options;
    return effectivePolicy({ cluster, tenant, configured, insecureAllowed });
  }
}
