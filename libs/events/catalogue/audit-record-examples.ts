import type { RecordKind } from './audit-records.js';

const PASSAGE_ID = '018f6f2e-7c1a-7b3e-9d55-2f1f0a4c9e11';
const OTHER_ID = '018f6f2e-9a04-7c52-8b1e-6a0d3c7be902';
const AT = '2026-03-02T09:30:00.000Z';
const EPOCH = '5f2c'.repeat(8);
const DIGEST = '5f2c'.repeat(16);
const spool = { producer: 'gateway-a', epoch: EPOCH };

/** Somebody exec'ed into a pod, as somebody else, through the replica that has no link to the cluster. */
const passage = {
  phase: 'outcome',
  id: PASSAGE_ID,
  at: AT,
  tenantId: 'default',
  door: 'kube-api',
  kind: 'exec',
  address: '198.51.100.7',
  traceId: '0af7651916cd43dd8448eb211c80319c',
  ingress: 'gateway-a',
  owner: 'gateway-b',
  session: OTHER_ID,
  clusterId: '018f6f2e-a3b1-7d10-9c44-0b6f5d2e7a31',
  cluster: 'production',
  identity: {
    kind: 'user',
    name: 'corp:dana',
    groups: ['corp:oncall'],
    groupsCut: false,
    session: '018f6f2e-b7d4-7e66-a1f0-93c2d84e5b60',
    proof: { kind: 'token', id: '018f6f2e-c5e9-7a27-8d3b-41fa60b9c7e2', of: 'login' },
  },
  as: 'deployer',
  asGroups: ['shop-deployers'],
  asGroupsCut: false,
  grantIds: ['018f6f2e-d01f-7f93-b6c8-5e07a2d91c44'],
  grantIdsCut: false,
  method: 'GET',
  requestUri: '/api/v1/namespaces/shop/pods/cart-0/exec?command=_&container=app&stdin=true&stdout=true&tty=true',
  userAgent: 'kubectl/v1.34.1 (linux/amd64) kubernetes/93248f9',
  resource: { verb: 'get', apiGroup: '', resource: 'pods', subresource: 'exec', namespace: 'shop', name: 'cart-0' },
  url: null,
  target: '',
  stream: { protocol: 'websocket', container: 'app', command: ['sh'], commandCut: false, stdin: true, tty: true },
  decision: 'allowed',
  status: 101,
  cause: 'COMPLETE',
  bytesUp: 412,
  bytesDown: 9_120,
  durationMs: 61_204,
};

/** Of each kind, the bodies that it may have: one for each of its forms. */
export const RECORD_EXAMPLES: Readonly<Record<RecordKind, readonly object[]>> = {
  passage: [passage],
  lost: [
    {
      phase: 'lost',
      at: AT,
      tenantId: 'default',
      count: 17,
      why: 'no space left on device',
      what: 'records',
      user: '',
    },
    { phase: 'lost', ...spool, from: 4_700, to: 4_711, count: 17, why: 'no space left on device' },
  ],
  handshakes: [
    {
      phase: 'handshakes',
      at: AT,
      until: '2026-03-02T09:31:00.000Z',
      tenantId: '_',
      door: 'connect',
      cause: 'CERTIFICATE_REFUSED',
      count: 3,
      addresses: [{ address: '203.0.113.9', count: 3 }],
    },
  ],
  rules: [
    {
      phase: 'rules',
      at: AT,
      tenantId: '_',
      replica: 'gateway-a',
      state: 'in-force',
      hash: DIGEST,
      previousHash: null,
      rules: 4,
      why: '',
    },
  ],
  gap: [
    { state: 'missing', ...spool, from: 812, to: 815 },
    { state: 'filled', ...spool, from: 812, to: 815 },
    { state: 'new-epoch', ...spool, previousEpoch: 'a01b'.repeat(8), previousMark: 4_711 },
  ],
  unknown: [{ passageId: PASSAGE_ID, intent: 120_394, ...spool, beganAt: AT }],
  unreadable: [
    { ...spool, seq: 813, why: 'identity.kind: invalid_value' },
    { ...spool, from: 813, to: 815, count: 2, why: 'identity.kind: invalid_value' },
    { stream: 'audit', subject: 'fairlead.audit.gateway-a', sequence: 90_210, bytes: 13, sha256: DIGEST },
  ],
  retention: [
    { statement: 'retention', first: 1, last: 90_000, size: 120_394, firstDay: '2025-01-24', lastDay: '2025-01-25' },
  ],
  'begun-anew': [
    {
      statement: 'begun-anew',
      incarnation: 2,
      kept: 120_390,
      signed: 120_380,
      last: {
        origin: 'fairlead.example.com/audit/default',
        size: 120_394,
        verifierKey: 'fairlead.example.com/audit/default+0b1c2d3e+BA…',
        checkpoint: 'fairlead.example.com/audit/default\n120394\n…\n',
      },
      by: 'admin',
    },
  ],
};
