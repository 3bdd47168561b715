import type { Duplex, Writable } from 'node:stream';
import { FairleadError } from '@fairlead/errors';

/**
 * Calls back with TUNNEL_RESET when a request is over and there will be no answer. Of a server that switches protocols,
 * though it was not asked to, Node (24.21) tells neither an answer nor an error; its connection is ended.
 */
export function onUnanswered(request: Writable, server: string, fail: (failure: FairleadError) => void): void {
  let what = 'ended the connection without an answer';
  const onClose = (): void => fail(new FairleadError('TUNNEL_RESET', `${server} ${what}`));
  request.once('close', onClose);
  request.once('response', () => void request.off('close', onClose));
  request.once('upgrade', (_answer: unknown, socket: Duplex) => {
    what = 'switched protocols, which nobody asked for';
    socket.on('error', () => undefined);
    socket.destroy();
  });
}
