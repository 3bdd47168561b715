import type { Duplex } from 'node:stream';

/**
 * Nothing more is read of a connection that is to end: what still comes is dropped, and the kernel keeps the rest. One that is only paused reads on until
 * 64 KiB wait, which a peer may send byte by byte, each in a record of TLS: thousands of reads, and of small buffers. Node stops reading
 * when `push` says that there is no room. That the peer has closed or reset it is not noticed either: it has to be ended by a timer.
 */
export function readNoMore(connection: Duplex): void {
  connection.pause();
  connection.push = noRoom;
}

function noRoom(): boolean {
  return false;
}
