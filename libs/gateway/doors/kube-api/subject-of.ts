import { describeRequest, readAttributes, type RequestAttributes } from '@fairlead/access-rules';
import { readStreamRequest } from '@fairlead/kube-http';
import type { PassageSubject } from '../../passage/live-connections.js';
import { kindOfRequest, kindOfStream } from '../../passage/passage-kind.js';
import type { Admission } from './admission.js';

type Asked = Pick<Admission, 'granted' | 'address'>;

/** What a request is for, as people are shown it: no query, and of an exec no command, which may hold a secret. */
export function subjectOfRequest(method: string, { granted, address }: Asked): PassageSubject {
  const attributes = granted?.asked.attributes ?? attributesOf(method, address.target);
  if (!attributes) return { kind: 'request', target: '' };
  return { kind: kindOfRequest(attributes), target: targetOf(attributes) };
}

/** The same of a request that switches to another protocol. */
export function subjectOfUpgrade(asked: Asked): PassageSubject {
  // They count as create, whatever their method.
  const { target } = subjectOfRequest('POST', asked);
  return { kind: kindOfStream(readStreamRequest(asked.address.target)), target };
}

/** Undefined: they cannot be read, which refuses nobody but those who need a grant. */
export function attributesOf(
  method: string,
  target: string,
  contentTypes: readonly string[] = [],
): RequestAttributes | undefined {
  try {
    return readAttributes(method, target, contentTypes);
  } catch {
    return undefined;
  }
}

function targetOf(attributes: RequestAttributes): string {
  const name = attributes.kind === 'resource' && attributes.name !== '' ? `: ${attributes.name.slice(0, 253)}` : '';
  return `${describeRequest(attributes)}${name}`.slice(0, 512);
}
