import type { Server } from 'node:net';
import { systemClock } from '@fairlead/clock';
import { FairleadError } from '@fairlead/errors';
import type { RoutePublisher, SessionRegistry } from '@fairlead/tunnel/gateway';
import type { GatewayServers, GatewayState } from './gateway-state.js';
import type { LiveConnections } from './passage/live-connections.js';
import { stopListening } from './listen.js';

/** How long running requests may go on once a replica is told to stop. */
const DRAIN_MS = 5_000;
/** How long those who are told why they end may take to hear it. */
const TELL_MS = 1_000;

/**
 * Leaves without breaking what can be finished: others stop routing here and agents are told to move; the doors go on
 * accepting for `doorGraceMs`, because a load balancer takes that long to notice, and then close; and when the tunnels are
 * done, or time is up, whoever can hear why is told, and the links end.
 */
export async function drainAndStop(
  { sessions, pool, relayClient, live }: GatewayState,
  publisher: RoutePublisher,
  servers: GatewayServers,
  doorGraceMs: number,
): Promise<void> {
  sessions.drain();
  await publisher.drain();
  for (const session of sessions.all()) session.drain(doorGraceMs + DRAIN_MS);
  await systemClock.sleep(doorGraceMs);
  const { link, relay, ...doors } = servers;
  await Promise.all([...Object.values(doors).map((door) => door && closeServer(door)), idle(sessions)]);
  await tellLeaving(live);
  await publisher.withdraw();
  pool.close();
  relayClient.close();
  for (const session of sessions.all()) sessions.remove(session);
  await Promise.all([link, relay].map((server) => within(DRAIN_MS, server.close())));
}

/** Waits until no tunnel is in use, or the drain's time is up. */
async function idle(sessions: SessionRegistry): Promise<void> {
  const deadline = performance.now() + DRAIN_MS;
  while (sessions.inFlight > 0 && performance.now() < deadline) await systemClock.sleep(50);
}

async function tellLeaving(live: LiveConnections): Promise<void> {
  const why = new FairleadError('DRAINING', 'this gateway shuts down');
  const told = new Set([...live].filter((each) => each.leave?.(why)));
  const deadline = performance.now() + TELL_MS;
  const isLeft = (): boolean => [...live].some((each) => told.has(each));
  while (isLeft() && performance.now() < deadline) await systemClock.sleep(20);
}

/** Stops listening; connections that outlive the drain are cut when the process ends. */
async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => void server.once('close', resolve));
  await stopListening(server);
  await within(DRAIN_MS, closed);
}

/** Waits for something, but not longer than this. */
async function within(ms: number, done: Promise<void>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([done, late]);
  clearTimeout(timer);
}
