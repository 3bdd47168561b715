import { silentLogger } from '@fairlead/observability';
import type { AgentSession, SessionRegistry } from '@fairlead/tunnel/gateway';
import { expect, it, vi } from 'vitest';
import { reportSessions } from './report-sessions.js';

it('tells how long a link stood in whole milliseconds of a clock that the machine’s does not move', () => {
  const session = {
    facts: {
      tenantId: 'default',
      clusterId: 'c',
      sessionId: 's',
      generation: 1,
      agentInstance: 'a',
      remoteAddress: '::1',
      // The machine's clock was set back by an hour since.
      connectedAtMs: Date.now() + 3_600_000,
    },
  } as AgentSession;
  let monotonicMs = 1_000.25;
  let tell: Parameters<SessionRegistry['onChange']>[0] = () => undefined;
  const agentDisconnected = vi.fn();
  const events = { agentConnected: () => undefined, agentDisconnected, accessRefused: () => undefined };
  const metrics = { sessions: { set: () => undefined }, sessionsEnded: { inc: () => undefined } };
  reportSessions(
    {
      sessions: { all: () => [], onChange: (listener) => void (tell = listener) },
      events,
      metrics: metrics as never,
      logger: silentLogger,
    },
    { monotonicMs: () => monotonicMs },
  );

  tell('opened', session);
  monotonicMs += 5_000.5;
  tell('closed', session);

  expect(agentDisconnected).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ durationMs: 5_001 }));
});
