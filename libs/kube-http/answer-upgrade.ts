import { STATUS_CODES, ServerResponse, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { FairleadError } from '@fairlead/errors';
import { fromServer, headerPairs, type RawHeaders } from './request-headers.js';
import { upgradeHeaders, type Upgrade } from './upgrade.js';

/** How long a client may take to read why its upgrade was refused. */
const READ_REFUSAL_MS = 5_000;

/**
 * An ordinary answer to a request that asked to upgrade. Node has given its connection up by then: this answer is the last on it, and ends it.
 * Throws INVALID_ARGUMENT if a request before it on that connection is not answered yet.
 */
export function ordinaryAnswer(incoming: IncomingMessage, socket: Duplex): ServerResponse {
  const outgoing = new ServerResponse(incoming);
  outgoing.shouldKeepAlive = false;
  try {
    outgoing.assignSocket(socket as Socket);
  } catch (error) {
    const why = 'an upgrade came before the request ahead of it was answered';
    throw new FairleadError('INVALID_ARGUMENT', why, { cause: error });
  }
  socket.on('drain', () => {
    if (outgoing.socket) outgoing.emit('drain');
  });
  outgoing.once('finish', () => {
    outgoing.detachSocket(socket as Socket);
    endRead(socket);
    outgoing.emit('close');
  });
  return outgoing;
}

/** Closing at once would take the answer from a client that still sends: what it sends is read and dropped for a moment. */
function endRead(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), READ_REFUSAL_MS).unref();
  socket.once('close', () => clearTimeout(timer));
  socket.resume();
  socket.end();
}

/** Tells a client that it may go on in the other protocol, and leaves the connection to it: each direction ends on its own. */
export function switchProtocols(
  outgoing: ServerResponse,
  socket: Duplex,
  upgrade: Upgrade,
  answered: RawHeaders,
): void {
  outgoing.detachSocket(socket as Socket);
  socket.allowHalfOpen = true;
  const headers = [...headerPairs(fromServer(answered))].filter(([name]) => name.toLowerCase() !== 'content-length');
  const lines = [...headers, ...headerPairs(upgradeHeaders(upgrade))].map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 101 ${STATUS_CODES[101]}\r\n${lines.join('')}\r\n`, 'latin1');
}
