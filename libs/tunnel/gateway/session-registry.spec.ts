import { EventEmitter } from 'node:events';
import type { Http2Session } from '@fairlead/http2';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { AgentSession, type ControlOutbox } from './agent-session.js';
import { SessionRegistry } from './session-registry.js';

/** The part of an HTTP/2 session that a registry touches: that it ends, and whether its peer answers. */
class QuietSession extends EventEmitter {
  destroyed = false;

  constructor(readonly answersPings: boolean) {
    super();
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }

  ping(): Promise<number | null> {
    return this.answersPings ? Promise.resolve(1) : new Promise(() => undefined);
  }
}

/** Nobody listens to what is said to these agents. */
const DEAF: ControlOutbox = {
  say: () => undefined,
  askForTunnels: () => undefined,
  tell: () => undefined,
};

let registry: SessionRegistry;
let changes: string[];
let count = 0;

function link(change: { generation?: number; agentInstance?: string; silent?: boolean } = {}): AgentSession {
  count += 1;
  const facts = {
    sessionId: `s${count}`,
    tenantId: 'default',
    clusterId: 'cluster',
    generation: 1,
    agentInstance: `agent-${count}`,
    link: 0,
    remoteAddress: '',
    connectedAtMs: count,
    ...change,
  };
  return new AgentSession(facts, new QuietSession(change.silent !== true) as unknown as Http2Session, DEAF);
}

const add = (session: AgentSession): AgentSession => {
  registry.add(session);
  return session;
};

beforeEach(() => {
  count = 0;
  changes = [];
  registry = new SessionRegistry();
  registry.onChange((change, { facts }) => changes.push(`${change} ${facts.sessionId}`));
});

it('a link whose agent has not begun comes last: it may end as the second one to this replica', () => {
  const [begun, fresh] = [add(link()), add(link())];
  expect(registry.of('cluster')).toEqual([fresh, begun]);
  vi.spyOn(begun, 'begun', 'get').mockReturnValue(true);
  expect(registry.of('cluster')).toEqual([begun, fresh]);
});

describe('a registry', () => {
  it('ends every link of a lower enrolment when a higher one comes', () => {
    const [one, two] = [add(link()), add(link())];
    const higher = add(link({ generation: 2 }));
    expect([one.closed, two.closed, higher.closed]).toEqual([true, true, false]);
    expect(registry.all()).toEqual([higher]);
    expect(changes).toEqual(['opened s1', 'opened s2', 'closed s1', 'closed s2', 'opened s3']);
  });

  it('refuses a link of an enrolment lower than one that is here', () => {
    const higher = add(link({ generation: 2 }));
    expect(() => registry.add(link({ generation: 1 }))).toThrow(
      expect.objectContaining({ code: 'CERTIFICATE_REFUSED' }),
    );
    expect(registry.all()).toEqual([higher]);
  });

  it('ends an earlier one of the same link only if it does not answer any more: it may be draining', async () => {
    vi.useFakeTimers();
    const [alive, leftover] = [add(link({ agentInstance: 'a' })), add(link({ agentInstance: 'b', silent: true }))];
    add(link({ agentInstance: 'a' }));
    add(link({ agentInstance: 'b' }));
    expect([alive.closed, leftover.closed]).toEqual([false, false]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect([alive.closed, leftover.closed]).toEqual([false, true]);
    vi.useRealTimers();
  });

  it('holds a bounded number of links of one cluster, the newest', () => {
    const links = Array.from({ length: 20 }, () => add(link()));
    expect(registry.all()).toEqual(links.slice(4));
    expect(links.slice(0, 4).every((session) => session.closed)).toBe(true);
  });

  it('takes no new links once it drains', () => {
    const session = add(link());
    registry.drain();
    expect(() => registry.add(link())).toThrow(expect.objectContaining({ code: 'DRAINING' }));
    expect(registry.all()).toEqual([session]);
  });

  it('opens nothing more on a link whose agent ends, and keeps it until it does', () => {
    const [leaving, other] = [add(link()), add(link())];
    let routes = 0;
    registry.onRoute(() => (routes += 1));
    registry.leave(leaving);
    registry.leave(leaving);
    expect([registry.of('cluster'), routes]).toEqual([[other], 1]);
    expect([leaving.closed, registry.all()]).toEqual([false, [leaving, other]]);
    expect(changes).toEqual(['opened s1', 'opened s2']);
  });

  it('tells each end once, whoever noticed it', () => {
    const session = add(link());
    registry.remove(session);
    registry.remove(session);
    expect(changes).toEqual(['opened s1', 'closed s1']);
    expect(registry.of('cluster')).toEqual([]);
  });

  it('knows one session per connection', () => {
    const session = add(link());
    expect(registry.byHttp2(session.http2)).toBe(session);
    const again = new AgentSession({ ...session.facts, sessionId: 's9' }, session.http2, DEAF);
    expect(() => registry.add(again)).toThrow(expect.objectContaining({ code: 'PROTOCOL_ERROR' }));
    expect(registry.all()).toEqual([session]);
  });
});
