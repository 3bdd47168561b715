import { AuditRecord } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { expect, it } from 'vitest';
import type { Outcome } from '../passage/outcome.js';
import { auditedIntent, auditedOutcome } from './audited-passage.js';

const LONG = 'ü'.repeat(100_000);
const outcome: Outcome = {
  door: 'kube-api',
  requestId: crypto.randomUUID(),
  traceId: 'a'.repeat(32),
  ingress: 'gateway-a',
  address: '192.0.2.1',
  identity: {
    kind: 'user',
    id: 'ann',
    name: 'ann',
    tenantId: 'default',
    proof: { kind: 'token', id: 'token-1', of: 'login' },
  },
  tenantId: 'default',
  grounds: { grantIds: Array.from({ length: 20 }, () => crypto.randomUUID()), as: 'deployer', asGroups: ['ops'] },
  cluster: { clusterId: crypto.randomUUID(), name: 'shop' },
  asked: {
    method: 'GET',
    cluster: 'shop',
    attributes: {
      kind: 'resource',
      verb: 'get',
      apiGroup: '',
      resource: 'pods',
      subresource: 'exec',
      namespace: 'web',
      name: 'cart-0',
    },
    stream: {
      kind: 'exec',
      namespace: 'web',
      object: 'pods/cart-0',
      container: 'app',
      command: ['sh', '-c', 'ls'],
      commandCut: false,
      stdin: true,
      tty: false,
      protocol: 'websocket',
    },
  },
  way: { tunnelId: 'tunnel-1', via: 'relay', replica: 'gateway-b', sessionId: 'session-1' },
  decision: 'allowed',
  intended: true,
  ending: { kind: 'carried', cause: 'COMPLETE', status: 101 },
  bytesUp: 1,
  bytesDown: 2,
  startedAtMs: 0,
  established: true,
  connected: true,
  peerLeft: false,
  durationMs: 3.6,
};

it('says who did what, where, by what right, and how it ended', () => {
  expect(AuditRecord.parse(auditedOutcome(outcome))).toMatchObject({
    phase: 'outcome',
    id: outcome.requestId,
    at: '1970-01-01T00:00:00.000Z',
    kind: 'exec',
    owner: 'gateway-b',
    identity: { kind: 'user', name: 'ann', proof: { kind: 'token', id: 'token-1', of: 'login' } },
    as: 'deployer',
    asGroups: ['ops'],
    asGroupsCut: false,
    grantIds: outcome.grounds?.grantIds.slice(0, 8),
    grantIdsCut: true,
    session: 'session-1',
    // A GET, and allowed as `create`.
    resource: { verb: 'create', resource: 'pods', subresource: 'exec', namespace: 'web', name: 'cart-0' },
    url: null,
    stream: { protocol: 'websocket', container: 'app', command: ['sh', '-c', 'ls'], stdin: true },
    decision: 'allowed',
    status: 101,
    cause: 'COMPLETE',
    durationMs: 4,
  });
});

it('says of an intent the same, but for the end', () => {
  const { phase, status, cause, id } = AuditRecord.parse(auditedIntent(outcome)) as ReturnType<typeof auditedIntent>;
  expect([phase, status, cause, id]).toEqual(['intent', 0, 'OPEN', outcome.requestId]);
});

it('is what the contract lets it be, whatever somebody unauthenticated made up', () => {
  const failure = new FairleadError('UNAUTHENTICATED', '');
  const { identity: _identity, tenantId: _tenant, cluster: _cluster, way: _way, grounds: _grounds, ...rest } = outcome;
  const unauthenticated: Outcome = {
    ...rest,
    address: LONG,
    asked: { method: LONG, cluster: LONG, attributes: { kind: 'url', verb: LONG, path: LONG } },
    decision: 'refused',
    intended: false,
    ending: { kind: 'failed', failure, status: 401, hop: 'gateway' },
  };
  expect(AuditRecord.parse(auditedOutcome(unauthenticated))).toMatchObject({
    tenantId: '_',
    identity: null,
    clusterId: null,
    owner: null,
    decision: 'refused',
    status: 401,
    cause: 'UNAUTHENTICATED',
  });
});

it('says with which groups somebody acts as another, at most 32 of them, and that they are cut', () => {
  const asGroups = Array.from({ length: 40 }, (_, at) => `${at}-${LONG}`);
  const acting: Outcome = { ...outcome, grounds: { grantIds: [], as: 'bob', asGroups } };
  const cut = asGroups.slice(0, 32).map((group) => group.slice(0, 256));
  const said = { as: 'bob', asGroups: cut, asGroupsCut: true, grantIds: [], grantIdsCut: false };
  expect(AuditRecord.parse(auditedIntent(acting))).toMatchObject(said);
  expect(AuditRecord.parse(auditedOutcome(acting))).toMatchObject(said);
});

it('reads what a gateway of before told, which said nothing of that', () => {
  const { asGroups, asGroupsCut, grantIdsCut, ...before } = auditedOutcome(outcome);
  expect(AuditRecord.parse(before)).toMatchObject({ asGroups: [], asGroupsCut: false, grantIdsCut: false });
  expect([asGroups, asGroupsCut, grantIdsCut]).toEqual([['ops'], false, true]);
});

it('names a client of the CONNECT door and its target', () => {
  const connected: Outcome = {
    ...outcome,
    door: 'connect',
    identity: { kind: 'client', id: 'c', name: 'ci', tenantId: 'default', proof: { kind: 'certificate', id: '0a' } },
    asked: { method: 'CONNECT', target: { host: 'db.shop.svc', port: 5432 } },
  };
  expect(AuditRecord.parse(auditedOutcome(connected))).toMatchObject({
    kind: 'tunnel',
    cluster: 'shop',
    identity: { kind: 'client', name: 'ci', proof: { kind: 'certificate', id: '0a', of: '' } },
    target: 'db.shop.svc:5432',
    resource: null,
    stream: null,
  });
});
