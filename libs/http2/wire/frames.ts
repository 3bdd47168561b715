import { CODE, FLAG, FRAME, FRAME_HEADER_BYTES } from './constants.js';

/** The nine bytes before a payload of `length` bytes. */
export function frameHeader(type: number, flags: number, streamId: number, length: number): Buffer {
  const header = Buffer.allocUnsafe(FRAME_HEADER_BYTES);
  writeHeader(header, type, flags, streamId, length);
  return header;
}

/** A whole frame, for payloads that are small. */
export function frame(type: number, flags: number, streamId: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(FRAME_HEADER_BYTES + payload.length);
  writeHeader(bytes, type, flags, streamId, payload.length);
  bytes.set(payload, FRAME_HEADER_BYTES);
  return bytes;
}

export function settingsFrame(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.allocUnsafe(settings.length * 6);
  settings.forEach(([id, value], index) => {
    payload.writeUInt16BE(id, index * 6);
    payload.writeUInt32BE(value, index * 6 + 2);
  });
  return frame(FRAME.settings, 0, 0, payload);
}

export const SETTINGS_ACK = frame(FRAME.settings, FLAG.ack, 0, Buffer.alloc(0));

export function pingFrame(opaque: Uint8Array, ack: boolean): Buffer {
  return frame(FRAME.ping, ack ? FLAG.ack : 0, 0, opaque);
}

export function rstStreamFrame(streamId: number, code: number): Buffer {
  return frame(FRAME.rstStream, 0, streamId, uint32(code));
}

export function windowUpdateFrame(streamId: number, bytes: number): Buffer {
  return frame(FRAME.windowUpdate, 0, streamId, uint32(bytes));
}

export function goawayFrame(lastStreamId: number, code: number = CODE.noError): Buffer {
  return frame(FRAME.goaway, 0, 0, Buffer.concat([uint32(lastStreamId), uint32(code)]));
}

/** HEADERS, and CONTINUATION for what the peer does not take in one frame. */
export function headersFrames(streamId: number, block: Buffer, endStream: boolean, maxFrameBytes: number): Buffer {
  const flags = endStream ? FLAG.endStream : 0;
  if (block.length <= maxFrameBytes) return frame(FRAME.headers, flags | FLAG.endHeaders, streamId, block);
  const frames = [frame(FRAME.headers, flags, streamId, block.subarray(0, maxFrameBytes))];
  for (let at = maxFrameBytes; at < block.length; at += maxFrameBytes) {
    const last = at + maxFrameBytes >= block.length;
    const piece = block.subarray(at, at + maxFrameBytes);
    frames.push(frame(FRAME.continuation, last ? FLAG.endHeaders : 0, streamId, piece));
  }
  return Buffer.concat(frames);
}

function writeHeader(target: Buffer, type: number, flags: number, streamId: number, length: number): void {
  target.writeUIntBE(length, 0, 3);
  target[3] = type;
  target[4] = flags;
  target.writeUInt32BE(streamId, 5);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
