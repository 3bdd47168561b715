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

/** Of one that is answered. */
export function kindOfRequest(attributes: RequestAttributes | undefined): PassageKind {
  if (attributes?.kind !== 'resource') return 'request';
  if (attributes.verb === 'watch') return 'watch';
  return attributes.resource === 'pods' && attributes.subresource === 'log' ? 'log' : 'request';
}
