import { grantsKeys, isInForce, scopeFilter, type AccessExplanation, type Subject } from '@fairlead/contracts';
import { read, type ServiceRuntime } from '@fairlead/events';
import type { EntityManager } from 'typeorm';
import { explain, explainTarget, type LockedDown, type Question } from '../domain/explain.js';
import { ruleOf } from '../domain/grant.js';
import { grantsOfKeys } from '../store/grant-store.js';
import { findLockdown } from '../store/lockdown-store.js';
import type { KnownClusters } from './known-clusters.js';

/** The issuer's groups of somebody, as of their last login; none if they never logged in. */
export type GroupsOf = (manager: EntityManager, tenantId: string, subject: Subject) => Promise<readonly string[]>;

export interface Asked extends Question {
  readonly subject: Subject;
  readonly subjectGroups?: readonly string[] | undefined;
  readonly cluster: string;
}

/** Tells how a door would decide, without asking one. */
export class ExplainAccess {
  constructor(
    private readonly runtime: ServiceRuntime,
    private readonly clusters: KnownClusters,
    private readonly groupsOf: GroupsOf,
  ) {}

  /** NOT_FOUND for a cluster that is not known; INVALID_ARGUMENT for a resource that is none. */
  async explain(tenantId: string, asked: Asked): Promise<AccessExplanation> {
    const cluster = this.clusters.get(tenantId, asked.cluster);
    const nowMs = this.runtime.now().getTime();
    return read(this.runtime, async (manager) => {
      const keys = await this.#keysOf(manager, tenantId, asked);
      const grants = (await grantsOfKeys(manager, keys)).filter(
        (grant) => isInForce(grant, nowMs) && scopeFilter(grant.clusters)(cluster),
      );
      if (asked.subject.kind === 'client')
        return explainTarget(grants, await lockdownOf(manager, tenantId, asked.cluster), asked);
      const rules = grants.map(ruleOf).filter((rule) => rule !== null);
      return explain(rules, await lockdownOf(manager, tenantId, asked.cluster), asked);
    });
  }

  async #keysOf(manager: EntityManager, tenantId: string, { subject, subjectGroups }: Asked): Promise<string[]> {
    const groups = subjectGroups ?? (await this.groupsOf(manager, tenantId, subject));
    const subjects: Subject[] = [subject, ...groups.map((name) => ({ kind: 'group' as const, name }))];
    return subjects.map((each) => grantsKeys.subject(tenantId, each));
  }
}

async function lockdownOf(manager: EntityManager, tenantId: string, cluster: string): Promise<LockedDown | null> {
  const found = (await findLockdown(manager, tenantId, null)) ?? (await findLockdown(manager, tenantId, cluster));
  return found && { cluster: found.clusterName, reason: found.reason };
}
