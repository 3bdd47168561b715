import { type Duplex, getDefaultHighWaterMark } from 'node:stream';

/** As much as a connection reads ahead by default. Shared by all: nobody reads it. */
const FILLING = Buffer.alloc(getDefaultHighWaterMark(false));

/**
 * Nothing more is read of a connection that is to end. One that is only paused reads on until 64 KiB wait, which a peer may send byte by byte, each
 * in a record of TLS: thousands of reads, and of small buffers. It stops when as much waits as it reads ahead, so that is put there.
 */
export function readNoMore(connection: Duplex): void {
  connection.pause();
  if (connection.readableEnded) return;
  const ahead = connection.readableHighWaterMark;
  connection.unshift(ahead <= FILLING.length ? FILLING : Buffer.alloc(ahead));
}
