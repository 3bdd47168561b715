import { FairleadError } from '@fairlead/errors';
import { deferred, type NatsConnection } from '@nats-io/transport-node';
import { connectionState } from './connection-state.js';

/**
 * Waits for an answer, but not longer than the connection it must come over. Throws DEADLINE_EXCEEDED when that is lost
 * (what was sent may have been carried out), or the signal's reason.
 */
export async function whileConnected<T>(nc: NatsConnection, answer: Promise<T>, signal?: AbortSignal): Promise<T> {
  const interrupted = deferred<never>();
  const onLost = (): void =>
    interrupted.reject(new FairleadError('DEADLINE_EXCEEDED', 'NATS went away before the answer came'));
  const onAbort = (): void => interrupted.reject(signal?.reason as Error);
  const unwatch = connectionState(nc).onChange(onLost);
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([answer, interrupted]);
  } finally {
    unwatch();
    signal?.removeEventListener('abort', onAbort);
    // The loser of the race may still reject, and nobody would be listening.
    answer.catch(() => undefined);
  }
}
