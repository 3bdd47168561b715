import { setImmediate as nextTurn } from 'node:timers/promises';
import { messageOf, type FairleadError } from '@fairlead/errors';
import { runLoop } from '@fairlead/loop';
import { connectionState } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import type { NatsConnection } from '@nats-io/transport-node';
import type { GatewayMetrics } from '../status/gateway-metrics.js';
import { Held, type LiveConnection, type LiveConnections } from './live-connections.js';

/** Twice this, and what the bucket's watch takes, is the longest that somebody goes on who was shut out. */
const INTERVAL_MS = 500;
/** Looked at in one turn of the event loop. */
const AT_ONCE = 200;

export interface WatchOptions {
  readonly nc: NatsConnection;
  readonly live: LiveConnections;
  readonly metrics: GatewayMetrics;
  readonly logger: Logger;
}

/**
 * Looks at what goes through the doors every now and then: measures what it holds, and breaks off whatever would be
 * refused if it came now: its client or token was deleted, has expired, is for somebody else, or may not reach that
 * cluster any more. Only what is refused twice in a row, because a bucket that lost its data is filled again within a
 * moment; and while NATS is away, when nothing else is certain, only what time has ended.
 */
export function watchConnections(options: WatchOptions, signal: AbortSignal): void {
  const state = connectionState(options.nc);
  let suspects: ReadonlySet<LiveConnection> = new Set();
  const watch = {
    work: async () => {
      suspects = await observeAll(options, state.connected ? suspects : new Set());
    },
    intervalMs: INTERVAL_MS,
    // A fault of ours in one connection must end neither the process nor the watch.
    onFailed: (error: unknown) => options.logger.error('access.watch.failed', { reason: messageOf(error), err: error }),
  };
  void runLoop(watch, signal);
}

/** Ends those suspects that are refused again, and returns those that would be refused now. */
async function observeAll(options: WatchOptions, suspects: ReadonlySet<LiveConnection>): Promise<Set<LiveConnection>> {
  const { live } = options;
  const held = new Held();
  const refused = new Set<LiveConnection>();
  let looked = 0;
  for (const connection of live) {
    held.add(connection, connection.heldBytes());
    const cause = connection.refusedNow();
    if (cause) refused.add(connection);
    if (cause && (suspects.has(connection) || connection.lapsedNow?.())) shutOut(options, connection, cause);
    looked += 1;
    // Whatever their number, they do not keep what goes through them waiting.
    if (looked % AT_ONCE === 0) await nextTurn();
  }
  live.held = held;
  return refused;
}

/** What ends may take a moment to. */
const ending = new WeakSet<LiveConnection>();

/** Breaks one off, and says so, once. */
export function shutOut(
  { metrics, logger }: Pick<WatchOptions, 'metrics' | 'logger'>,
  connection: LiveConnection,
  cause: FairleadError,
): void {
  if (ending.has(connection)) return;
  ending.add(connection);
  const { door, id, who, tenantId, clusterId, address } = connection;
  const { code, message } = cause;
  metrics.accessEnded.inc({ door, code });
  logger.warn('access.ended', { door, connectionId: id, who, tenantId, clusterId, address, code, reason: message });
  connection.end(cause);
}
