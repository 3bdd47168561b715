import type { Socket } from 'node:net';
import { connectionKey, type ConnectionEnds } from '../connection-ends.js';

/** Those that came through a balancer, by `connectionKey`: a TLS socket and an HTTP/2 session have the ends of the socket below them. */
const behindBalancers = new Map<string, { readonly address: string }>();
/** What is told of a connection when it has ended is told within this time. */
const KEEP_ENDED_MS = 10_000;

/**
 * The address of the client at the other end: the one that its balancer told, if it came through one of ours (`acceptFromBalancers`), else
 * the connection's own; empty if that is not known any more. The only way to ask: a limit by `remoteAddress` would count all
 * who come through a balancer as one.
 */
export function clientAddressOf(connection: ConnectionEnds): string {
  const { remoteAddress = '' } = connection;
  if (behindBalancers.size === 0) return remoteAddress;
  return behindBalancers.get(connectionKey(connection))?.address ?? remoteAddress;
}

/** The client's address holds until the connection ends, and a little longer. */
export function rememberClient(socket: Socket, address: string): void {
  const key = connectionKey(socket);
  const client = { address };
  behindBalancers.set(key, client);
  const forget = (): void => {
    if (behindBalancers.get(key) === client) behindBalancers.delete(key);
  };
  socket.once('close', () => void setTimeout(forget, KEEP_ENDED_MS).unref());
}
