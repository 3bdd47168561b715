import { ERROR_KINDS, FairleadError, type ErrorCode } from '@fairlead/errors';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { refusal } from './answers.js';

it('an answer is one head and one line, whatever the agent said', () => {
  const codes = fc.constantFrom(...(Object.keys(ERROR_KINDS) as ErrorCode[]));
  const said = fc.oneof(fc.string({ unit: 'binary', maxLength: 700 }), fc.constant('x\r\n\r\nHTTP/1.1 200 OK\r\n'));
  fc.assert(
    fc.property(codes, said, (code, message) => {
      const { status, text } = refusal(new FairleadError(code, message));
      const [head = '', ...bodies] = text.split('\r\n\r\n');
      expect(bodies).toHaveLength(1);
      expect(bodies[0]).toMatch(/^[A-Z_]+: [^\r\n]*\n$/);
      expect(head).toContain(`Content-Length: ${Buffer.byteLength(bodies[0] ?? '')}`);
      // Clients such as the kube-apiserver show their users the status line and nothing else.
      expect(head.split('\r\n')[0]).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [ -~]+ \\(${code}\\)$`));
      expect(head).toContain(`Fairlead-Reason: ${code}`);
      expect(head.includes('Retry-After')).toBe(ERROR_KINDS[code].retryable);
    }),
  );
});

it.each([
  ['INVALID_ARGUMENT', 400],
  ['CERTIFICATE_REFUSED', 403],
  ['FORBIDDEN', 403],
  ['TARGET_REFUSED', 403],
  ['UNAUTHENTICATED', 407],
  ['RATE_LIMITED', 429],
  ['TARGET_UNREACHABLE', 502],
  ['AGENT_OFFLINE', 503],
  ['AGENT_RECONNECTING', 503],
  ['AGENT_OVERLOADED', 503],
  ['DEADLINE_EXCEEDED', 504],
] as const)('%s is %i', (code, status) => {
  const { status: answered, text } = refusal(new FairleadError(code, 'x'));
  expect(answered).toBe(status);
  expect(text.includes('Proxy-Authenticate: Basic ')).toBe(status === 407);
});
