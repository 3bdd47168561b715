import type { AuditRecord } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { beforeEach, expect, it } from 'vitest';
import type { Ending, Identity, Outcome } from '../passage/outcome.js';
import { SpooledAudit, type AuditLevels, type AuditPolicy } from './audit-trail.js';

let kept: AuditRecord[];
let leftOut: string[];
let level: 'none' | 'metadata';

const levels: AuditLevels = {
  levelOf: () => ({ rule: 'quiet', level }),
  leftOut: (rule) => void leftOut.push(rule),
};

function trail(policy: AuditPolicy): SpooledAudit {
  const append = (record: AuditRecord): boolean => kept.push(record) > 0;
  const appendDurably = async (record: AuditRecord): Promise<number> => kept.push(record);
  return new SpooledAudit({ append, appendDurably, offer: append }, policy, levels);
}

const ann: Identity = {
  kind: 'user',
  id: 'ann',
  name: 'ann',
  tenantId: 'default',
  proof: { kind: 'token', id: 'token-1', of: 'login' },
};
const ANSWERED: Ending = { kind: 'answered', status: 200 };
const failed = (code: 'FORBIDDEN' | 'TUNNEL_RESET'): Ending => {
  const failure = new FairleadError(code, '');
  return { kind: 'failed', failure, status: failure.kind.http, hop: 'agent' };
};

function outcome(said: Partial<Outcome> = {}): Outcome {
  return {
    door: 'kube-api',
    requestId: crypto.randomUUID(),
    traceId: '',
    ingress: 'gateway-a',
    address: '192.0.2.1',
    identity: ann,
    tenantId: 'default',
    asked: { method: 'GET' },
    decision: 'allowed',
    intended: false,
    ending: ANSWERED,
    bytesUp: 0,
    bytesDown: 0,
    startedAtMs: 0,
    established: false,
    connected: true,
    peerLeft: false,
    durationMs: 1,
    ...said,
  };
}

beforeEach(() => {
  [kept, leftOut, level] = [[], [], 'none'];
});

it.each<[string, Partial<Outcome>, AuditPolicy, boolean]>([
  ['a read', {}, 'best-effort', false],
  ['a read', {}, 'required', false],
  ['what broke off', { ending: failed('TUNNEL_RESET') }, 'best-effort', false],
  ['what may change something', { intended: true }, 'best-effort', false],
  ['what may change something', { intended: true }, 'required', true],
  ['what was refused here', { decision: 'refused', ending: failed('TUNNEL_RESET') }, 'best-effort', true],
  ['what the agent refused', { ending: failed('FORBIDDEN') }, 'best-effort', true],
  ['what the cluster refused', { ending: { kind: 'answered', status: 403 } }, 'best-effort', true],
  [
    'what we broke off',
    { ending: { kind: 'carried', cause: 'X', endedBy: new FairleadError('SESSION_ENDED', '') } },
    'best-effort',
    true,
  ],
  [
    'what the administrator’s token did',
    { identity: { ...ann, proof: { kind: 'token', id: 't', of: 'administrator' } } },
    'best-effort',
    true,
  ],
])('by a rule of level None, %s (%j) is on record under %s: %s', (_what, said, policy, expected) => {
  trail(policy).outcome(outcome(said));
  expect([kept.length === 1, leftOut]).toEqual([expected, expected ? [] : ['quiet']]);
});

it('what is refused in floods is a sum that waits for room, and is never one record lost', () => {
  const lost: AuditRecord[] = [];
  let hasRoom = true;
  const append = (record: AuditRecord): boolean => (hasRoom ? kept : lost).push(record) > 0;
  const offer = (record: AuditRecord): boolean => hasRoom && kept.push(record) > 0;
  const audit = new SpooledAudit({ append, offer, appendDurably: async () => 1 }, 'best-effort');
  const refused = { decision: 'refused', ending: failed('FORBIDDEN') } as const;
  for (let each = 0; each < 5_000; each += 1) audit.outcome(outcome(refused));
  for (let each = 0; each < 5_000; each += 1) audit.outcome(outcome({ ...refused, identity: undefined }));
  const oneByOne = kept.length;
  expect(oneByOne).toBeLessThan(1_000);
  hasRoom = false;
  audit.close();
  expect(lost).toEqual([]);
  hasRoom = true;
  audit.close();
  const sums = kept.slice(oneByOne).flatMap((sum) => (sum.phase === 'lost' ? [sum] : []));
  expect(sums.map(({ user }) => user)).toEqual(['ann', '']);
  expect(oneByOne + sums.reduce((all, { count }) => all + count, 0)).toBe(10_000);
});

it('an intent is on record with its outcome, or neither is', () => {
  const audit = trail('best-effort');
  const [quiet, loud] = [outcome({ intended: true }), outcome({ intended: true })];
  expect(audit.intent(quiet)).toBeUndefined();
  audit.outcome(quiet);
  expect([kept, leftOut]).toEqual([[], ['quiet']]);
  level = 'metadata';
  void audit.intent(loud);
  // The rules are others by the time that it is over.
  level = 'none';
  audit.outcome(loud);
  expect(kept.map(({ phase }) => phase)).toEqual(['intent', 'outcome']);
});

it('under required an intent is always on record, and nothing goes on without it', async () => {
  const audit = trail('required');
  const write = outcome({ intended: true });
  await audit.intent(write);
  audit.outcome(write);
  expect(kept.map(({ phase }) => phase)).toEqual(['intent', 'outcome']);
});
