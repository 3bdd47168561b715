import type { RequestAttributes } from '@fairlead/access-rules';
import type { PassageKind } from '@fairlead/contracts';
import type { StreamRequest } from '@fairlead/kube-http';

const STREAMS = {
  exec: 'exec',
  attach: 'attach',
  portforward: 'port-forward',
  proxy: 'proxy',
  other: 'proxy',
} as const satisfies Record<StreamRequest['kind'], PassageKind>;

/** Of a request that switches to another protocol. */
export function kindOfStream({ kind }: Pick<StreamRequest, 'kind'>): PassageKind {
  return STREAMS[kind];
}

const SUBRESOURCES: ReadonlyMap<string, PassageKind> = new Map([
  ['exec', 'exec'],
  ['attach', 'attach'],
  ['portforward', 'port-forward'],
  ['proxy', 'proxy'],
]);

/** Of one that is answered. What asks for a shell is one in whatever form it came: a kubelet behind `nodes/…/proxy` runs commands by a plain POST. */
export function kindOfRequest(attributes: RequestAttributes | undefined): PassageKind {
  if (attributes?.kind !== 'resource') return 'request';
  const { verb, resource, subresource } = attributes;
  if (verb === 'watch') return 'watch';
  if (resource === 'pods' && subresource === 'log') return 'log';
  return verb === 'proxy' ? 'proxy' : (SUBRESOURCES.get(subresource) ?? 'request');
}
