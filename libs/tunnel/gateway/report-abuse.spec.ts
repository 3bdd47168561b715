import { EventEmitter } from 'node:events';
import { SessionError, type Http2Session } from '@fairlead/http2';
import { RateLimitedLog } from '@fairlead/limits';
import { silentLogger } from '@fairlead/observability';
import { expect, it, vi } from 'vitest';
import { reportAbuse } from './report-abuse.js';

it('counts every session that was ended for abuse, and has few lines of those of one address', () => {
  const warn = vi.fn();
  const inc = vi.fn();
  let nowMs = 0;
  const options = {
    door: 'link',
    metrics: { http2Abuse: { inc } },
    logger: { ...silentLogger, warn },
    abuseLines: new RateLimitedLog({ monotonicMs: () => nowMs }),
  } as const;
  const abuse = (remoteAddress: string): void => {
    const session = Object.assign(new EventEmitter(), { socket: { remoteAddress } });
    reportAbuse(session as unknown as Http2Session, options);
    session.emit('ending', new SessionError(11, 'too many', 'ping-flood'));
  };
  for (let sessions = 0; sessions < 1_000; sessions += 1) abuse('192.0.2.1');
  expect([inc.mock.calls.length, warn.mock.calls.length]).toEqual([1_000, 100]);
  warn.mockClear();
  abuse('192.0.2.2');
  nowMs += 500;
  abuse('192.0.2.1');
  const line = { door: 'link', reason: 'ping-flood' };
  expect(warn.mock.calls).toEqual([
    ['http2.session.abused', { ...line, address: '192.0.2.2' }],
    ['http2.session.abused', { ...line, address: '192.0.2.1', suppressed: 900 }],
  ]);
});
