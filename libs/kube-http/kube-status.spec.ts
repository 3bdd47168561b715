import { ERROR_KINDS, FairleadError, type ErrorCode } from '@fairlead/errors';
import { describe, expect, it } from 'vitest';
import { toKubeStatus } from './kube-status.js';

const CODES = Object.keys(ERROR_KINDS) as ErrorCode[];
/** Codes that say the request provably never reached a kube-apiserver. */
const NOT_DELIVERED = new Set([
  'ENROLMENT_PENDING',
  'RATE_LIMITED',
  'UNAVAILABLE',
  'NO_SESSION',
  'AGENT_RECONNECTING',
  'AGENT_OVERLOADED',
  'DRAINING',
  'AUDIT_UNAVAILABLE',
]);

describe('a Kubernetes Status', () => {
  it.each(CODES)('for %s is what kubectl reads, and names code, hop and trace', (code) => {
    const status = toKubeStatus(new FairleadError(code, 'the reason'), 'agent', 'trace-1');
    const body = JSON.parse(status.body) as Record<string, unknown>;
    expect(status.httpStatus).toBe(ERROR_KINDS[code].http);
    expect(body).toMatchObject({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code: status.httpStatus });
    expect(body['message']).toBe('fairlead agent: the reason (trace trace-1)');
    expect(body['reason']).toMatch(/^[A-Z][A-Za-z]+$/);
    for (const fact of [code, 'agent', 'trace-1']) expect(JSON.stringify(body['details'])).toContain(fact);
  });

  it.each(CODES)('for %s has Retry-After only if nothing was delivered: client-go repeats any verb then', (code) => {
    const { retryAfterSeconds, body } = toKubeStatus(new FairleadError(code, 'm'), 'gateway', 't');
    expect(retryAfterSeconds === null).toBe(!NOT_DELIVERED.has(code));
    expect(body.includes('retryAfterSeconds')).toBe(NOT_DELIVERED.has(code));
  });

  it('warns in a header that stays short and one line, whatever the message', () => {
    const { warning } = toKubeStatus(
      new FairleadError('TUNNEL_RESET', `"\\\r\n\u00e9one’s${'x'.repeat(60_000)}`),
      'agent',
      't',
    );
    expect(warning).toMatch(/^299 fairlead "fairlead agent: \\"\\\\\?\?\?one'sx+"$/);
    expect(warning.length).toBeLessThan(1_200);
  });

  it('keeps a hostile message inside its JSON string', () => {
    const { body } = toKubeStatus(new FairleadError('TUNNEL_RESET', '"}\r\n\r\nHTTP/1.1 200 OK'), 'agent', 't');
    expect(body.trimEnd()).not.toMatch(/[\r\n]/);
    expect((JSON.parse(body) as { message: string }).message).toContain('HTTP/1.1 200 OK');
  });
});
