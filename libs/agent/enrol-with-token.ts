import { FairleadError } from '@fairlead/errors';
import type { AgentIdentity } from './agent-identity.js';
import type { AgentOptions } from './agent-options.js';
import { feedOf } from './facts/feed.js';
import type { Endpoint } from './forward-proxy.js';
import { BECOME_OWN, mayLeave, whyNotOwn } from './own-cluster.js';

/**
 * Spends the token that the agent was given, or asks to be adopted. UNAUTHENTICATED if it may do neither; otherwise as `enrol`. `foreign`: the
 * stored identity, of another cluster than the manifest's; it is replaced when the enrolment succeeds, and not before.
 */
export async function enrolWithToken(
  options: AgentOptions,
  attempt: number,
  signal: AbortSignal,
  foreign: AgentIdentity | null = null,
): Promise<AgentIdentity> {
  const token = await options.token();
  if (foreign) assertMayLeave(options, foreign, token);
  if (token === null && !options.adoption) {
    throw new FairleadError(
      'UNAUTHENTICATED',
      'there is neither an identity nor a bootstrap token; import the cluster again: fairlead cluster import <name>',
    );
  }
  // Each try takes the next endpoint, so that one dead replica does not hold up an enrolment.
  const endpoint = options.endpoints[attempt % options.endpoints.length] as Endpoint;
  // What makes keys and requests for certificates is loaded when it is needed: most starts have an identity.
  const { enrol } = await import('./enrol.js');
  return enrol({ ...options, facts: await feedOf(options.facts).current(), endpoint, token, signal });
}

function assertMayLeave(
  { adoption = false, clusterId, logger }: AgentOptions,
  foreign: AgentIdentity,
  token: string | null,
): void {
  const reason = whyNotOwn(foreign, clusterId);
  if (!mayLeave(foreign, token, adoption)) throw new FairleadError('UNAUTHENTICATED', `${reason}; ${BECOME_OWN}`);
  logger.warn('agent.identity.of_another_cluster', {
    stored: foreign.clusterId,
    clusterId,
    next: 'enrolling as the cluster of the manifest',
  });
}
