import { describe, expect, it } from 'vitest';
import { ERROR_KINDS, FairleadError, fromWire, isErrorCode, toFairleadError, type ErrorCode } from './index.js';

const codes = Object.keys(ERROR_KINDS) as ErrorCode[];

describe.each(codes)('%s', (code) => {
  const kind = ERROR_KINDS[code];

  it('has statuses in range and a message that is a sentence fragment', () => {
    expect(kind.http).toBeGreaterThanOrEqual(400);
    expect(kind.http).toBeLessThan(600);
    expect(kind.grpc).toBeGreaterThan(0);
    expect(kind.grpc).toBeLessThanOrEqual(16);
    expect(kind.safeMessage).toMatch(/^[a-z].*[^.]$/);
  });

  it('is retryable only with a status that clients retry', () => {
    expect(kind.retryable ? [429, 503] : [kind.http]).toContain(kind.http);
  });

  it('survives the wire', () => {
    const error = new FairleadError(code, 'what and where', { details: { cluster: 'demo' } });
    const back = fromWire(JSON.parse(JSON.stringify(error.toWire())));
    expect(back).toMatchObject({ code, message: 'what and where', details: { cluster: 'demo' } });
  });
});

it('has no stack where it is an outcome like others, and the next one has', () => {
  const limit = Error.stackTraceLimit;
  const { stack, code, message } = FairleadError.withoutStack('FORBIDDEN', 'not yours');
  expect([stack, code, message]).toEqual(['FairleadError: not yours', 'FORBIDDEN', 'not yours']);
  expect(Error.stackTraceLimit).toBe(limit);
  expect(new FairleadError('FORBIDDEN', 'x').stack).toContain('codes.spec.ts');
});

describe('errors from elsewhere', () => {
  it('hides the text of what it does not know', () => {
    const wrapped = toFairleadError(new Error('password=hunter2'));
    expect(wrapped.code).toBe('INTERNAL');
    expect(wrapped.message).not.toContain('hunter2');
  });

  it('takes an unknown code of a newer peer for INTERNAL', () => {
    expect(isErrorCode('toString')).toBe(false);
    expect(fromWire({ code: 'FROM_THE_FUTURE', message: 'x' }).code).toBe('INTERNAL');
    expect(fromWire(null).code).toBe('INTERNAL');
  });
});
