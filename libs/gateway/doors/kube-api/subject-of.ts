import { describeRequest, readAttributes, type RequestAttributes } from '@fairlead/access-rules';
import { readStreamRequest, type StreamRequest } from '@fairlead/kube-http';
import type { PassageSubject } from '../../passage/live-connections.js';
import type { Admission } from './authorize.js';

const STREAMS = {
  exec: 'exec',
  attach: 'attach',
  portforward: 'port-forward',
  proxy: 'proxy',
  other: 'proxy',
} as const satisfies Record<StreamRequest['kind'], PassageSubject['kind']>;

type Asked = Pick<Admission, 'granted' | 'address'>;

/** What a request is for, as people are shown it: no query, and of an exec no command, which may hold a secret. */
export function subjectOfRequest(method: string, { granted, address }: Asked): PassageSubject {
  const attributes = granted?.asked.attributes ?? attributesOf(method, address.target);
  if (!attributes) return { kind: 'request', target: '' };
  return { kind: kindOf(attributes), target: targetOf(attributes) };
}

/** The same of a request that switches to another protocol. */
export function subjectOfUpgrade(asked: Asked): PassageSubject {
  // They count as create, whatever their method.
  const { target } = subjectOfRequest('POST', asked);
  return { kind: STREAMS[readStreamRequest(asked.address.target).kind], target };
}

/** What the administrator asks for is not read before it is let in. Undefined: it cannot be. */
function attributesOf(method: string, target: string): RequestAttributes | undefined {
  try {
    return readAttributes(method, target);
  } catch {
    return undefined;
  }
}

function kindOf(attributes: RequestAttributes): PassageSubject['kind'] {
  if (attributes.kind !== 'resource') return 'request';
  if (attributes.verb === 'watch') return 'watch';
  return attributes.resource === 'pods' && attributes.subresource === 'log' ? 'log' : 'request';
}

function targetOf(attributes: RequestAttributes): string {
  const name = attributes.kind === 'resource' && attributes.name !== '' ? `: ${attributes.name.slice(0, 253)}` : '';
  return `${describeRequest(attributes)}${name}`.slice(0, 512);
}
