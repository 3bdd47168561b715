import { ERROR_KINDS, type ErrorCode } from '@fairlead/errors';
import type { Outcome } from './outcome.js';

/**
 * What became of an attempt to get through a door. `ok` and `failed` are what the objective is about; the others are nobody's fault here: the cluster's
 * agent is not linked anywhere, they may not, their target is away, or who asked has left.
 */
export const CONNECT_RESULTS = ['ok', 'failed', 'offline', 'refused', 'target', 'left'] as const;
export type ConnectResult = (typeof CONNECT_RESULTS)[number];

/** Codes below 500 that are a fault of ours all the same. */
const OUR_FAULT: ReadonlySet<ErrorCode> = new Set(['WRONG_CLUSTER']);

/** Why a passage that is over never got what was asked for; undefined for one that did, which is counted at that moment. */
export function notConnected({ connected, peerLeft, ending }: Outcome): Exclude<ConnectResult, 'ok'> | undefined {
  if (connected || ending.kind !== 'failed') return undefined;
  const { code } = ending.failure;
  if (code === 'AGENT_OFFLINE') return 'offline';
  if (code === 'TARGET_UNREACHABLE') return 'target';
  if (ERROR_KINDS[code].http < 500 && !OUR_FAULT.has(code)) return 'refused';
  return peerLeft ? 'left' : 'failed';
}
