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
  const events = {
    agentConnected: () => undefined,
    agentDisconnected,
    accessRefused: () => undefined,
    stream: () => undefined,
    administratorUsed: () => undefined,
  };
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

it('has few log lines of an agent that comes and goes without end, says how many are missing, and counts all', () => {
  let monotonicMs = 0;
  let tell: Parameters<SessionRegistry['onChange']>[0] = () => undefined;
  const sessionsEnded = { inc: vi.fn() };
  const info = vi.fn();
  const events = {
    agentConnected: () => undefined,
    agentDisconnected: () => undefined,
    accessRefused: () => undefined,
    stream: () => undefined,
    administratorUsed: () => undefined,
  };
  reportSessions(
    {
      sessions: { all: () => [], onChange: (listener) => void (tell = listener) },
      events,
      metrics: { sessions: { set: () => undefined }, sessionsEnded } as never,
      logger: { ...silentLogger, info },
    },
    { monotonicMs: () => monotonicMs },
  );
  const comeAndGo = (clusterId: string): void => {
    const session = { facts: { clusterId } } as AgentSession;
    tell('opened', session);
    tell('closed', session);
  };
  for (let times = 0; times < 1_000; times += 1) comeAndGo('flapping');
  expect(info).toHaveBeenCalledTimes(200);
  expect(sessionsEnded.inc).toHaveBeenCalledTimes(1_000);
  info.mockClear();
  comeAndGo('other');
  monotonicMs += 500;
  comeAndGo('flapping');
  expect(info.mock.calls).toMatchObject([
    ['agent.connected', { clusterId: 'other' }],
    ['agent.disconnected', { clusterId: 'other' }],
    ['agent.connected', { clusterId: 'flapping', suppressed: 900 }],
    ['agent.disconnected', { clusterId: 'flapping', suppressed: 900 }],
  ]);
});
