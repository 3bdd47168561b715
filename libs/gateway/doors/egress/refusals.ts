import { FairleadError } from '@fairlead/errors';
import { readTargetHost, type TargetPolicy } from '@fairlead/targets';
import type { TcpTarget } from '@fairlead/tcp-targets';
import type { Directory } from '../../directory.js';
import type { EgressPolicies } from './egress-rules.js';

/** Why a connection that stands would be refused if it came now; null if it would not. `dialled` is the address it has. */
export function whyRefused(
  directory: Directory,
  policies: EgressPolicies,
  clusterId: string,
  { host, port, dialled }: TcpTarget & { readonly dialled: string },
): FairleadError | null {
  const cluster = directory.clusterById(clusterId);
  if (!cluster) return new FairleadError('CERTIFICATE_REFUSED', 'the cluster of this link was deleted');
  const isName = readTargetHost(host)?.kind === 'name';
  if (policies.of(cluster).allowsAddress(dialled, port, isName ? host : undefined)) return null;
  return new FairleadError('TARGET_REFUSED', `${host}:${port} is not allowed any more by the egress rules`);
}

/**
 * A refusal, as the cluster is told it that asked for a name which its rules list. What the control plane's resolver knows of that, and which addresses, is not
 * its business: a name that is not there, one that leads to what is not allowed, and one where nothing answers are one answer. The
 * gateway's own log has the whole.
 */
export function toldToCluster(failure: FairleadError, { host, port }: TcpTarget, policy: TargetPolicy): FairleadError {
  if (readTargetHost(host)?.kind !== 'name' || !policy.allowsName(host, port)) return failure;
  const { code } = failure;
  if (code === 'DEADLINE_EXCEEDED') return new FairleadError(code, `${host}:${port} did not answer in time`);
  if (code !== 'TARGET_UNREACHABLE' && code !== 'TARGET_REFUSED') return failure;
  return new FairleadError(
    'TARGET_UNREACHABLE',
    `${host}:${port} cannot be reached from the control plane, or leads to what its egress rules do not allow; the gateway’s log says which`,
  );
}
