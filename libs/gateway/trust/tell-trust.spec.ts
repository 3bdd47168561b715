import { SessionRegistry, type AgentSession } from '@fairlead/tunnel/gateway';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { linkSession } from '../testing/link-session.js';
import { tellTrust, type OnTrustHeld, type TrustReport } from './trust-report.js';
import type { HeldTrust, TrustStore } from './trust-store.js';

let held: HeldTrust | null;
let changed: () => void;
let sessions: SessionRegistry;
let told: { readonly sessionId: string; readonly version: number }[];
let reported: string[];
let onTrustHeld: OnTrustHeld;

const trust = {
  get held() {
    return held;
  },
  get version() {
    return held?.version ?? 0;
  },
  onChange: (listener: () => void) => void (changed = listener),
} as unknown as TrustStore;
const report = {
  held: (clusterId: string, version: number) => void (version > 0 && reported.push(`${clusterId}@${version}`)),
} as unknown as TrustReport;

beforeEach(() => {
  vi.useFakeTimers();
  [held, told, reported] = [null, [], []];
  sessions = new SessionRegistry();
  onTrustHeld = tellTrust(trust, sessions, report);
});
afterEach(() => {
  vi.useRealTimers();
});

function publish(version: number): void {
  const signed = { bundle: new Uint8Array([version]), signerChainPem: [], signature: new Uint8Array() };
  held = { version, trustDomain: 'fairlead.local', rootsPem: [], signed };
  changed();
}

function link(clusterId: string, trustVersion: number): AgentSession {
  return linkSession(sessions, {
    clusterId,
    trustVersion,
    tell: (message) => {
      if (message.case === 'trust') told.push({ sessionId: clusterId, version: message.value.bundle[0] ?? 0 });
    },
  });
}

describe('agents are told which roots count', () => {
  it('after they linked, if they hold an older bundle, and once', () => {
    publish(2);
    link('behind', 1);
    link('current', 2);
    link('ahead', 3);
    expect(told).toEqual([]);
    vi.advanceTimersByTime(1_000);
    expect(told).toEqual([{ sessionId: 'behind', version: 2 }]);
    expect(reported).toEqual(['current@2']);
  });

  it('a few at a time, however many there are, and each of them the newest', () => {
    publish(1);
    for (let i = 0; i < 1_000; i += 1) link(`cluster-${i}`, 1);
    publish(2);
    vi.advanceTimersByTime(0);
    expect(told).toHaveLength(50);
    vi.advanceTimersByTime(500);
    expect(told).toHaveLength(300);
    publish(3);
    vi.advanceTimersByTime(60_000);
    expect(told.filter(({ version }) => version === 3)).toHaveLength(1_000);
    expect(told).toHaveLength(1_300);
  });

  it('not once they are gone', () => {
    publish(2);
    sessions.remove(link('gone', 1));
    vi.advanceTimersByTime(1_000);
    expect([told, vi.getTimerCount()]).toEqual([[], 0]);
  });
});

describe('what an agent says that it holds', () => {
  it('counts for its own cluster, if it is what is held here, and it is told no more', () => {
    publish(2);
    const session = link('behind', 1);
    for (const version of [0, 1, 3, 0xff_ff_ff_ff]) onTrustHeld(session, version);
    expect([session.trustVersion, reported]).toEqual([1, []]);
    onTrustHeld(session, 2);
    expect([session.trustVersion, reported]).toEqual([2, ['behind@2']]);
    vi.advanceTimersByTime(1_000);
    expect(told).toEqual([]);
  });

  it('ahead of this replica counts when this replica has come so far', () => {
    publish(2);
    link('ahead', 3);
    publish(3);
    vi.advanceTimersByTime(1_000);
    expect([told, reported]).toEqual([[], ['ahead@3']]);
  });
});
