import { create } from '@bufbuild/protobuf';
import { SignedRevocationsSchema } from '@fairlead/proto';
import { SessionRegistry, type AgentSession } from '@fairlead/tunnel/gateway';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { linkSession } from '../testing/link-session.js';
import { tellStatementRevocations } from './tell-statement-revocations.js';

let number: number;
let changed: (tenantId: string) => void;
let sessions: SessionRegistry;
let told: string[];

beforeEach(() => {
  vi.useFakeTimers();
  [number, told] = [0, []];
  sessions = new SessionRegistry();
  const of = (tenantId: string) =>
    number > 0 && tenantId === 'default' ? create(SignedRevocationsSchema, { number: BigInt(number) }) : null;
  tellStatementRevocations({ of, onChange: (listener) => void (changed = listener) }, sessions);
});
afterEach(() => {
  vi.useRealTimers();
});

function publish(next: number): void {
  number = next;
  changed('default');
  vi.advanceTimersByTime(1_000);
}

function link(name: string, held = 0): AgentSession {
  const session = linkSession(sessions, {
    clusterId: name,
    revocationsNumber: held,
    tell: (message) => {
      if (message.case === 'revocations') told.push(`${name}@${message.value.number}`);
    },
  });
  vi.advanceTimersByTime(1_000);
  return session;
}

describe('agents are told which statements were revoked', () => {
  it('once they are linked, unless they go by that list or a later one', () => {
    publish(5);
    link('behind', 4);
    link('current', 5);
    link('ahead', 9);
    expect(told).toEqual(['behind@5']);
  });

  it('whenever there is a later list, and never twice on one link', () => {
    link('one');
    expect(told).toEqual([]);
    publish(1);
    publish(1);
    publish(2);
    expect(told).toEqual(['one@1', 'one@2']);
  });

  it('not of what concerns other tenants', () => {
    link('one');
    number = 3;
    changed('other');
    vi.advanceTimersByTime(1_000);
    expect(told).toEqual([]);
  });
});
