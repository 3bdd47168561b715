import { AccessRequest, Grant } from '@fairlead/contracts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PENDING_MS, decideRequest, stateOf, subjectOfUser } from './access-request.js';
import { checkNewGrant } from './grant.js';

const createdAt = new Date('2026-05-01T12:00:00.000Z');
const after = (ms: number): Date => new Date(createdAt.getTime() + ms);

function request(change: Partial<AccessRequest> = {}): AccessRequest {
  return AccessRequest.parse({
    id: crypto.randomUUID(),
    tenantId: 'default',
    user: 'corp:ada',
    clusters: { names: ['shop'] },
    role: 'admin',
    narrowing: {},
    seconds: 7_200,
    reason: 'the shop is down',
    state: 'pending',
    createdAt: createdAt.toISOString(),
    decidedBy: null,
    decidedAt: null,
    grantId: null,
    ...change,
  });
}

const approve = (by: string) => ({ by, approve: true, grantId: crypto.randomUUID() });

describe('a request', () => {
  it('that is approved makes a grant that begins now and ends when it says', () => {
    const now = after(60_000);
    const asked = request();
    const decision = approve('corp:bob');
    const { request: decided, grant } = decideRequest(asked, decision, now);
    expect(decided).toMatchObject({ state: 'approved', decidedBy: 'corp:bob', decidedAt: now.toISOString() });
    expect(Grant.parse(grant)).toMatchObject({
      id: decision.grantId,
      subject: { kind: 'user', name: 'corp:ada' },
      role: 'admin',
      clusters: { names: ['shop'] },
      expiresAt: after(60_000 + 7_200_000).toISOString(),
      createdBy: 'corp:bob',
      requestId: asked.id,
      reason: 'the shop is down',
    });
    expect(() => checkNewGrant(grant!, now)).not.toThrow();
    expect(decided.grantId).toBe(decision.grantId);
  });

  it('that is rejected makes none', () => {
    const { request: decided, grant } = decideRequest(request(), { ...approve('corp:bob'), approve: false }, after(1));
    expect([decided.state, decided.grantId, grant]).toEqual(['rejected', null, null]);
  });

  it('is never decided by who asked, whatever its state', () => {
    for (const state of ['pending', 'approved', 'rejected', 'lapsed'] as const) {
      for (const yes of [true, false]) {
        const decide = (): unknown =>
          decideRequest(request({ state }), { ...approve('corp:ada'), approve: yes }, after(1));
        expect(decide).toThrow(expect.objectContaining({ code: 'FORBIDDEN' }));
      }
    }
  });

  it('is decided once, and not after it lapsed', () => {
    const { request: decided } = decideRequest(request(), approve('corp:bob'), after(1));
    const conflict = expect.objectContaining({ code: 'CONFLICT' });
    expect(() => decideRequest(decided, approve('corp:eve'), after(2))).toThrow(conflict);
    expect(() => decideRequest(request(), approve('corp:bob'), after(PENDING_MS))).toThrow(conflict);
    expect(() => decideRequest(request(), approve('corp:bob'), after(PENDING_MS - 1))).not.toThrow();
  });

  it('that is approved lapses with its grant', () => {
    const { request: decided, grant } = decideRequest(request(), approve('corp:bob'), after(5_000));
    const endMs = Date.parse(grant!.expiresAt!);
    expect([stateOf(decided, new Date(endMs - 1)), stateOf(decided, new Date(endMs))]).toEqual(['approved', 'lapsed']);
  });

  it('never comes back from where it ended', () => {
    const times = fc.array(fc.nat(2 * PENDING_MS), { minLength: 2, maxLength: 10 });
    fc.assert(
      fc.property(times, fc.constantFrom('pending', 'rejected', 'lapsed'), (offsets, state) => {
        const states = offsets.toSorted((a, b) => a - b).map((ms) => stateOf(request({ state }), after(ms)));
        const ended = states.findIndex((each) => each !== 'pending');
        const afterwards = ended === -1 ? [] : states.slice(ended);
        expect(new Set(afterwards).size).toBeLessThanOrEqual(1);
      }),
    );
  });
});

it('grants to the token or the program that asked', () => {
  expect(subjectOfUser('token:ci')).toEqual({ kind: 'token', name: 'ci' });
  expect(subjectOfUser('workload:gh:repo')).toEqual({ kind: 'workload', name: 'gh:repo' });
  expect(subjectOfUser('corp:token:ci')).toEqual({ kind: 'user', name: 'corp:token:ci' });
});
