import { create } from '@bufbuild/protobuf';
import { SignedDesiredStateSchema } from '@fairlead/proto';
import { SessionRegistry, type AgentSession } from '@fairlead/tunnel/gateway';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { linkSession } from '../testing/link-session.js';
import { tellDesired } from './tell-desired.js';

let wanted: Map<string, number>;
let certain: boolean;
let changed: (clusterId: string) => void;
let sessions: SessionRegistry;
let told: string[];

beforeEach(() => {
  vi.useFakeTimers();
  [wanted, certain, told] = [new Map(), true, []];
  sessions = new SessionRegistry();
  const of = (_tenant: string, clusterId: string) =>
    wanted.has(clusterId)
      ? create(SignedDesiredStateSchema, { revision: BigInt(wanted.get(clusterId) as number) })
      : null;
  const desired = {
    get certain() {
      return certain;
    },
    of,
    revisionOf: (_tenant: string, clusterId: string) => wanted.get(clusterId) ?? 0,
    onChange: (listener: (clusterId: string) => void) => void (changed = listener),
  };
  tellDesired(desired, sessions);
});
afterEach(() => {
  vi.useRealTimers();
});

function publish(clusterId: string, revision: number): void {
  wanted.set(clusterId, revision);
  changed(clusterId);
}

function link(clusterId: string, desiredRevision = 0): AgentSession {
  return linkSession(sessions, {
    clusterId,
    desiredRevision,
    tell: (message) => {
      if (message.case === 'desiredState') told.push(`${clusterId}@${message.value.revision}`);
    },
  });
}

describe('agents are told what is wanted of their cluster', () => {
  it('after they linked, if they have another revision, and nothing where nothing is wanted', () => {
    for (const cluster of ['behind', 'ahead', 'current']) publish(cluster, 5);
    link('behind', 4);
    link('ahead', 9);
    link('current', 5);
    link('unassigned', 2);
    expect(told).toEqual([]);
    vi.advanceTimersByTime(1_000);
    expect(told).toEqual(['behind@5', 'ahead@5']);
  });

  it('on each of their links, whenever it changes, signed anew with the same revision too', () => {
    link('one');
    link('one');
    link('other');
    publish('one', 1);
    vi.advanceTimersByTime(1_000);
    publish('one', 1);
    vi.advanceTimersByTime(1_000);
    expect(told).toEqual(['one@1', 'one@1', 'one@1', 'one@1']);
  });

  it('not of an older one, while this replica may lag behind', () => {
    publish('one', 5);
    certain = false;
    link('one', 6);
    link('one', 4);
    vi.advanceTimersByTime(1_000);
    expect(told).toEqual(['one@5']);
  });

  it('a few at a time, and each of them the newest', () => {
    for (let i = 0; i < 1_000; i += 1) link(`cluster-${i}`);
    for (let i = 0; i < 1_000; i += 1) publish(`cluster-${i}`, 1);
    vi.advanceTimersByTime(0);
    expect(told).toHaveLength(50);
    publish('cluster-999', 2);
    vi.advanceTimersByTime(60_000);
    expect([told.length, told.at(-1)]).toEqual([1_000, 'cluster-999@2']);
  });

  it('not once they are gone', () => {
    publish('gone', 2);
    sessions.remove(link('gone', 1));
    vi.advanceTimersByTime(1_000);
    expect([told, vi.getTimerCount()]).toEqual([[], 0]);
  });
});
