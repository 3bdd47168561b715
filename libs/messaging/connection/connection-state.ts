import { type NatsConnection, deferred } from '@nats-io/transport-node';
import { FairleadError } from '@fairlead/errors';

/** Whether a connection reaches its server right now: the client library itself queues silently when it does not. */
export interface ConnectionState {
  readonly connected: boolean;
  /** Calls back on each change; returns a function that stops it. */
  onChange(listener: (connected: boolean) => void): () => void;
}

const states = new WeakMap<NatsConnection, TrackedState>();

/** The state of a connection; one tracker per connection, however many ask. */
export function connectionState(nc: NatsConnection): ConnectionState {
  const known = states.get(nc);
  if (known) return known;
  const state = new TrackedState(!nc.isClosed());
  states.set(nc, state);
  void track(nc, state);
  return state;
}

class TrackedState implements ConnectionState {
  readonly #listeners = new Set<(connected: boolean) => void>();
  connected: boolean;

  constructor(connected: boolean) {
    this.connected = connected;
  }

  onChange(listener: (connected: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  set(connected: boolean): void {
    if (this.connected === connected) return;
    this.connected = connected;
    for (const listener of this.#listeners) listener(connected);
  }
}

async function track(nc: NatsConnection, state: TrackedState): Promise<void> {
  for await (const status of nc.status()) {
    if (status.type === 'disconnect' || status.type === 'close') state.set(false);
    else if (status.type === 'reconnect') state.set(true);
  }
  state.set(false);
}

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
