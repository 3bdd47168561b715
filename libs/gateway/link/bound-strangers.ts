import type { Server } from 'node:tls';
import { Newcomers, Places, type PlaceLimits } from '@fairlead/clock';
import type { Http2Session } from '@fairlead/http2';
import type { LinkPeer } from './link-peer.js';

/** Connections without an agent's valid certificate: there for Discover, Enrol or Renew, which take a second or two. */
const STRANGERS: PlaceLimits = { total: 2_000, perNetwork: 256 };
/** Connections that have not shown yet who they are: a fleet behind one address may come back all at once, with several links each. */
const UNPROVEN: PlaceLimits = { total: 16_000, perNetwork: 8_192 };

/**
 * Bounds the connections of the agents' door that prove nothing, so that nobody keeps agents out by connecting. Call what it
 * returns for each new session: false, and the session is ended, for a stranger too many.
 */
export function boundStrangers(
  server: Server,
  limits: { readonly unproven: PlaceLimits } = { unproven: UNPROVEN },
): (session: Http2Session, peer: LinkPeer) => boolean {
  const [newcomers, strangers] = [new Newcomers(server, limits.unproven), new Places(STRANGERS)];
  return (session, peer) => {
    newcomers.admit(session.socket);
    if (peer.kind === 'agent') return true;
    const giveBack = strangers.take(peer.address);
    if (giveBack) session.once('close', giveBack);
    else session.destroy();
    return giveBack !== null;
  };
}
