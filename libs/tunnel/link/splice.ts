import { constants } from 'node:http2';
import { abandonStream, endStream, type GrpcStream } from './grpc-stream.js';

/** Bytes that went each way, as they were on the wire between the two streams. */
export interface SplicedBytes {
  forward: number;
  backward: number;
}

/**
 * Joins two tunnel streams byte for byte, unparsed, with the flow control of each acting on the other: at most one
 * HTTP/2 window per direction is held here. Both streams carry whole Frames, so what one end ends, the other end sees.
 * A stream that breaks off takes the other with it: a frame could have been cut in the middle, so nothing can be said
 * in band any more. Resolves when both are gone. `counts` is counted up while it runs.
 */
export function splice(
  a: GrpcStream,
  b: GrpcStream,
  counts: SplicedBytes = { forward: 0, backward: 0 },
): Promise<SplicedBytes> {
  a.on('data', (chunk: Buffer) => void (counts.forward += chunk.length));
  b.on('data', (chunk: Buffer) => void (counts.backward += chunk.length));
  a.pipe(b, { end: false });
  b.pipe(a, { end: false });
  a.once('end', () => endStream(b));
  b.once('end', () => endStream(a));
  return Promise.all([goneTakesAlong(a, b), goneTakesAlong(b, a)]).then(() => counts);
}

function goneTakesAlong(stream: GrpcStream, other: GrpcStream): Promise<void> {
  return new Promise((resolve) => {
    const onClose = (): void => {
      if (!stream.readableEnded && !other.destroyed) other.close(constants.NGHTTP2_CANCEL);
      // It ended its direction and is gone: what the other still says has nowhere to go, and nobody would read it.
      else if (!other.readableEnded) abandonStream(other);
      resolve();
    };
    if (stream.destroyed) onClose();
    else stream.once('close', onClose);
  });
}
