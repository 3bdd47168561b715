import { EventEmitter } from 'node:events';
import type { ServerHttp2Session } from 'node:http2';
import { RateLimitedLog } from '@fairlead/limits';
import { Registry, silentLogger } from '@fairlead/observability';
import { expect, it, vi } from 'vitest';
import { createGatewayMetrics } from '../status/gateway-metrics.js';
import { guardSession } from './http2-abuse.js';

it('counts every session that Node ended for abuse, and has few lines of those of one address', async () => {
  const warn = vi.fn();
  const registry = new Registry();
  const options = {
    door: 'kube-api',
    end: () => undefined,
    metrics: createGatewayMetrics(registry),
    logger: { ...silentLogger, warn },
    abuseLines: new RateLimitedLog({ monotonicMs: () => 0 }),
  } as const;
  for (let sessions = 0; sessions < 300; sessions += 1) {
    const session = Object.assign(new EventEmitter(), { socket: { remoteAddress: '192.0.2.1' }, state: {} });
    guardSession(session as unknown as ServerHttp2Session, options);
    session.emit('error', Object.assign(new Error('broke HTTP/2'), { code: 'ERR_HTTP2_ERROR' }));
    session.emit('close');
  }
  expect(warn).toHaveBeenCalledTimes(100);
  expect(await registry.metrics()).toMatch(/http2_abuse_total\{door="kube-api",reason="protocol"\} 300/);
});
