import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { FairleadError, messageOf } from '@fairlead/errors';
import { acceptFromBalancers, type Balancers } from '@fairlead/limits';

export interface Listening {
  /** `host:port` as bound. */
  readonly address: string;
  readonly port: number;
}

/**
 * Binds a server to `host:port`, for balancers too if there are any. UNAVAILABLE, naming the address, if it cannot be had. Who wants to hear
 * of its connections listens for them before.
 */
export async function listen(server: Server, hostPort: string, balancers?: Balancers): Promise<Listening> {
  if (balancers) acceptFromBalancers(server, balancers);
  const at = hostPort.lastIndexOf(':');
  const host = hostPort.slice(0, at).replace(/^\[|\]$/g, '');
  try {
    server.listen(Number(hostPort.slice(at + 1)), host);
    await once(server, 'listening');
  } catch (error) {
    throw new FairleadError('UNAVAILABLE', `cannot listen on ${hostPort}: ${messageOf(error)}`, { cause: error });
  }
  const { port } = server.address() as AddressInfo;
  return { address: `${hostPort.slice(0, at)}:${port}`, port };
}

/** Nobody came for so long: the last step of a connection that its client already has takes a moment, in the kernel and on the way. */
const QUIET_MS = 25;
/** However many come, it is over after so many looks. A look has a turn of the loop at least, as a busy machine may give few in its time. */
const MAX_LOOKS = 20;

/**
 * Stops listening once nobody waits in the kernel's queue: closing a listening socket resets those. Connections that were
 * accepted go on; the server's `close` event tells when they are gone.
 */
export async function stopListening(server: Server): Promise<void> {
  let accepted = 0;
  const onConnection = (): void => void (accepted += 1);
  server.on('connection', onConnection);
  let before = -1;
  for (let looks = 0; accepted > before && looks < MAX_LOOKS; looks += 1) {
    before = accepted;
    await setTimeout(QUIET_MS);
    // The turn under way may have looked at this server before the last of them came.
    await setImmediate();
    await setImmediate();
  }
  server.off('connection', onConnection);
  server.close();
}
