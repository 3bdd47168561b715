import type { NatsConnection } from '@nats-io/transport-node';

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
