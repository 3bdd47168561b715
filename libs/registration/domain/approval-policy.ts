import type { ApprovalPolicy } from '@fairlead/contracts';

/** Where a policy was chosen, from the nearest to the farthest; null: not chosen there. */
interface ChosenPolicies {
  readonly cluster: ApprovalPolicy | null;
  readonly tenant: ApprovalPolicy | null;
  readonly configured: ApprovalPolicy;
  /** The flag without which `insecure-always-approve` counts as `always-reject`, wherever it was chosen. */
  readonly insecureAllowed: boolean;
}

/** The policy that counts: the nearest one. A policy that is not allowed any more fails closed. */
export function effectivePolicy({ cluster, tenant, configured, insecureAllowed }: ChosenPolicies): ApprovalPolicy {
  const policy = cluster ?? tenant ?? configured;
  return policy === 'insecure-always-approve' && !insecureAllowed ? 'always-reject' : policy;
}
