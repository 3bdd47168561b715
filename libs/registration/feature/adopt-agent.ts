import { DEFAULT_TENANT, type Caller } from '@fairlead/contracts';
import { FairleadError, assertNever } from '@fairlead/errors';
import { ADOPTED, insertCluster, type StoredCluster } from '../store/cluster-store.js';
import type { StoredEnrolmentRequest } from '../store/enrolment-request-store.js';
import type { ApprovalPolicies } from './approval-policies.js';
import { rejected, type EnrolInput } from './enrolment-refusals.js';
import type { EnrolmentRequests } from './enrolment-requests.js';
import { commit, type Runtime } from './runtime.js';

interface Adoption {
  readonly policies: ApprovalPolicies;
  readonly requests: EnrolmentRequests;
}

/**
 * An agent without a token: it belongs to no cluster yet. An enrolment where everybody gets one, or a request that somebody has to decide about.
 * UNAUTHENTICATED, ENROLMENT_REJECTED, RATE_LIMITED.
 */
export async function adoptAgent(
  runtime: Runtime,
  { policies, requests }: Adoption,
  caller: Caller,
  { spkiSha256, facts, remoteAddress }: EnrolInput & { readonly spkiSha256: string },
): Promise<{ cluster: StoredCluster; generation: number } | StoredEnrolmentRequest> {
  const asking = { tenantId: DEFAULT_TENANT, spkiSha256, clusterId: null, tokenId: null, facts, remoteAddress };
  return commit(runtime, async (manager) => {
    const policy = await policies.effective(manager, DEFAULT_TENANT, null);
    switch (policy) {
      case 'token':
        throw new FairleadError('UNAUTHENTICATED', 'this installation adopts no agent without a bootstrap token');
      case 'always-reject':
        throw rejected();
      case 'queue':
      case 'webhook':
        return requests.add(manager, asking);
      case 'insecure-always-approve': {
        const name = `adopted-${spkiSha256.slice(0, 12)}`;
        const request = await requests.add(manager, asking);
        const made = await insertCluster(manager, { tenantId: DEFAULT_TENANT, name, ...ADOPTED });
        const { generation } = await requests.approveIn(manager, caller, request, made, true);
        runtime.logger.warn('enrolment.approved_insecurely', { name, fingerprint: spkiSha256, remoteAddress });
        return { cluster: made, generation: generation ?? 1 };
      }
      default:
        return assertNever(policy);
    }
  });
}
