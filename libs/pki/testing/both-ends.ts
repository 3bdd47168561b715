import { once } from 'node:events';
import type { Server, TLSSocket } from 'node:tls';

/** The server's end of a handshake, once the client's stands too. Rejects with the error of the end that failed. */
export async function bothEnds(listener: Server, socket: TLSSocket): Promise<TLSSocket> {
  const failed = once(listener, 'tlsClientError').then(([error]) => Promise.reject(error as Error));
  const accepted = once(listener, 'secureConnection');
  const ends = await Promise.all([Promise.race([accepted, failed]), once(socket, 'secureConnect')]);
  return (ends as [[TLSSocket], unknown])[0][0];
}
