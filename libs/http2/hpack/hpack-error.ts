/** Thrown by decode(): the connection cannot go on (COMPRESSION_ERROR, RFC 9113 4.3). The message holds nothing of the block. */
export class HpackError extends Error {
  override readonly name = 'HpackError';
}
