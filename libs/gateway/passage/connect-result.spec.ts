import { FairleadError, type ErrorCode } from '@fairlead/errors';
import { expect, it } from 'vitest';
import { notConnected } from './connect-result.js';
import type { Outcome } from './outcome.js';

function resultOf(code: ErrorCode, peerLeft = false, connected = false) {
  const failure = new FairleadError(code, 'why');
  const ending = { kind: 'failed', failure, status: 500, hop: 'gateway' } as const;
  return notConnected({ ending, peerLeft, connected } as Outcome);
}

it.each([
  ['TUNNEL_RESET', 'failed'],
  ['AGENT_RECONNECTING', 'failed'],
  ['AGENT_OVERLOADED', 'failed'],
  ['UNAVAILABLE', 'failed'],
  ['INTERNAL', 'failed'],
  ['WRONG_CLUSTER', 'failed'],
  ['AGENT_OFFLINE', 'offline'],
  ['TARGET_UNREACHABLE', 'target'],
  ['TARGET_REFUSED', 'refused'],
  ['UNAUTHENTICATED', 'refused'],
  ['RATE_LIMITED', 'refused'],
  ['INVALID_ARGUMENT', 'refused'],
] as const)('%s before anything came of it counts as %s', (code, result) => {
  expect(resultOf(code)).toBe(result);
});

it('who went away itself was not failed by us, and who had what it asked for was counted then', () => {
  expect(resultOf('TUNNEL_RESET', true)).toBe('left');
  expect(resultOf('UNAUTHENTICATED', true)).toBe('refused');
  expect(resultOf('TUNNEL_RESET', true, true)).toBeUndefined();
  expect(notConnected({ ending: { kind: 'answered', status: 200 } } as Outcome)).toBeUndefined();
});
