import { randomBytes, randomUUID } from 'node:crypto';
import { DEFAULT_TENANT, type AuditedPassage } from '../index.js';

/** Of a `get` of pods that was let through, if nothing else is said. */
export function passage(said: Partial<AuditedPassage> = {}): AuditedPassage {
  return {
    phase: 'outcome',
    id: randomUUID(),
    at: new Date().toISOString(),
    tenantId: DEFAULT_TENANT,
    door: 'kube-api',
    kind: 'request',
    address: '127.0.0.1',
    traceId: randomBytes(16).toString('hex'),
    owner: 'gateway-a',
    clusterId: randomUUID(),
    cluster: 'demo',
    ingress: 'gateway-a',
    session: '',
    requestUri: '/api/v1/namespaces/shop/pods/cart-0',
    userAgent: 'kubectl/v1.34.0',
    identity: {
      kind: 'user',
      name: 'dana',
      groups: ['corp:shop'],
      groupsCut: false,
      session: randomUUID(),
      proof: { kind: 'token', id: randomUUID(), of: 'login' },
    },
    as: '',
    asGroups: [],
    asGroupsCut: false,
    grantIds: [],
    grantIdsCut: false,
    method: 'GET',
    resource: { verb: 'get', apiGroup: '', resource: 'pods', subresource: '', namespace: 'shop', name: 'cart-0' },
    url: null,
    target: '',
    stream: null,
    decision: 'allowed',
    status: 200,
    cause: 'COMPLETE',
    bytesUp: 0,
    bytesDown: 0,
    durationMs: 1,
    ...said,
  };
}

export const passages = (count: number, said: Partial<AuditedPassage> = {}): AuditedPassage[] =>
  Array.from({ length: count }, () => passage(said));
