import type { Objects } from '@fairlead/kube/rest';
import type { Webhook } from './matching.js';

/**
 * Does nobody answer for it? There is no such Service, or none of its endpoints is ready. One outside of the cluster cannot be looked at,
 * and is not taken for dead: it may be the company's policy engine, out of reach for a minute.
 */
export async function isDead(objects: Objects, { clientConfig }: Webhook): Promise<boolean> {
  const service = clientConfig?.service;
  if (!service) return false;
  const { namespace, name } = service;
  if (!(await objects.read({ apiVersion: 'v1', kind: 'Service', namespace, name }))) return true;
  const slices = await objects.list(
    { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice' },
    { namespace, labelSelector: `kubernetes.io/service-name=${name}` },
  );
  const endpoints = slices.flatMap(
    (slice) => (slice['endpoints'] ?? []) as { addresses?: string[]; conditions?: { ready?: boolean } }[],
  );
  return !endpoints.some(({ addresses = [], conditions }) => addresses.length > 0 && conditions?.ready !== false);
}
