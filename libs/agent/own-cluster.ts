import { FairleadError } from '@fairlead/errors';
import { parseToken } from '@fairlead/pki';
import type { AgentIdentity } from './agent-identity.js';

/** Is it of the cluster that the manifest names, or does the manifest name none? */
export function isOwn({ clusterId }: Pick<AgentIdentity, 'clusterId'>, own: string | undefined): boolean {
  return own === undefined || clusterId === own;
}

/** A gateway in wrong hands may show the request of this agent together with another cluster's token. CERTIFICATE_REFUSED. */
export function requireOwn(identity: AgentIdentity, own: string | undefined): void {
  if (isOwn(identity, own)) return;
  throw new FairleadError(
    'CERTIFICATE_REFUSED',
    `the gateway brought an identity of the cluster ${identity.clusterId}; the manifest is of ${own}`,
  );
}

/** Has the agent what it takes to become the manifest's cluster: a token that the stored identity did not come from, or leave to ask? */
export function mayLeave(stored: AgentIdentity, token: string | null, adoption: boolean): boolean {
  return token === null ? adoption : parseToken(token).id !== stored.tokenId;
}

/** Why a stored identity of another cluster is not taken up. */
export function whyNotOwn({ clusterId }: AgentIdentity, own: string | undefined): string {
  return `the stored identity is of the cluster ${clusterId}, and the manifest (FAIRLEAD_CLUSTER_ID) is of ${own}`;
}

/** What to do without a new token. */
export const BECOME_OWN =
  'to become the cluster of the manifest, import that one again: fairlead cluster import <name>; to stay what it is, apply the manifest of the cluster whose identity it has';
