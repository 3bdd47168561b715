import type { Clock } from '@fairlead/clock';
import { BUCKETS, GatewayHeartbeat, LinkRoute } from '@fairlead/contracts';
import { connectionState, watchBucket, type KvSnapshot } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import type { NatsConnection } from '@nats-io/transport-node';
import { z } from 'zod';
import type { RouteTable } from './route-table.js';

const RouteValue = z.union([GatewayHeartbeat, LinkRoute]);
type RouteValue = z.infer<typeof RouteValue>;

export interface RouteWatcher {
  readonly snapshot: KvSnapshot<RouteValue>;
  readonly time: ConnectedTime;
}

/** Feeds the route table from the routes bucket for as long as the process lives. */
export function watchRoutes(nc: NatsConnection, table: RouteTable, clock: Clock, logger: Logger): RouteWatcher {
  const state = connectionState(nc);
  const time = new ConnectedTime(clock, state.connected);
  state.onChange((connected) => time.set(connected));
  const snapshot = watchBucket<RouteValue>(nc, BUCKETS.routes, RouteValue, {
    logger,
    onChange: (key, value) => applyChange(table, key, value, time.nowMs()),
  });
  return { snapshot, time };
}

function applyChange(table: RouteTable, key: string, value: RouteValue | undefined, nowMs: number): void {
  if (value === undefined) {
    if (key.startsWith('gateway.')) table.removeGateway(key.split('.')[2] ?? '');
    else table.removeSession(key, nowMs);
  } else if ('beat' in value) {
    // The key says who wrote it; NATS permissions hold only for the key, so a value may not speak for another.
    if (key === `gateway.${value.credential}.${value.instance}`) table.setGateway(value, nowMs);
  } else if (key.split('.')[2] === value.gatewayInstance) {
    table.setSession(key, value);
  }
}

/** Counts only the time spent connected, so that an outage of NATS ages nothing. */
export class ConnectedTime {
  readonly #clock: Clock;
  #countedMs = 0;
  #since: number | null = null;

  constructor(clock: Clock, connected: boolean) {
    this.#clock = clock;
    this.set(connected);
  }

  set(connected: boolean): void {
    const now = this.#clock.monotonicMs();
    if (this.#since !== null) this.#countedMs += now - this.#since;
    this.#since = connected ? now : null;
  }

  nowMs(): number {
    return this.#countedMs + (this.#since === null ? 0 : this.#clock.monotonicMs() - this.#since);
  }
}
