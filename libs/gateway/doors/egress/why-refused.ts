import { FairleadError } from '@fairlead/errors';
import { readTargetHost } from '@fairlead/targets';
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
