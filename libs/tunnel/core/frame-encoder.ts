import { create, toBinary } from '@bufbuild/protobuf';
import { FrameSchema, type Frame } from '@fairlead/proto';

const GRPC_PREFIX_BYTES = 5;
/** Tag of `Frame.data`: field 1, length-delimited. */
export const DATA_TAG = 0x0a;

/** What a control frame carries: any kind but data. */
export type ControlKind = Exclude<Frame['kind'], { case: 'data' } | { case: undefined }>;

/** One control frame as a gRPC message: prefix and protobuf. */
export function encodeControl(kind: ControlKind): Buffer {
  const body = toBinary(FrameSchema, create(FrameSchema, { kind }));
  const message = Buffer.allocUnsafe(GRPC_PREFIX_BYTES + body.length);
  message[0] = 0;
  message.writeUInt32BE(body.length, 1);
  message.set(body, GRPC_PREFIX_BYTES);
  return message;
}

/**
 * What goes before `length` bytes of payload to make them one data frame: the gRPC prefix, the field's tag and its
 * length.
 */
export function encodeDataHeader(length: number): Buffer {
  const lengthBytes = varintLength(length);
  const header = Buffer.allocUnsafe(GRPC_PREFIX_BYTES + 1 + lengthBytes);
  header[0] = 0;
  header.writeUInt32BE(1 + lengthBytes + length, 1);
  header[GRPC_PREFIX_BYTES] = DATA_TAG;
  writeVarint(header, GRPC_PREFIX_BYTES + 1, length);
  return header;
}

function varintLength(value: number): number {
  let bytes = 1;
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) bytes += 1;
  return bytes;
}

function writeVarint(target: Buffer, offset: number, value: number): void {
  let rest = value;
  let at = offset;
  while (rest > 0x7f) {
    target[at] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
    at += 1;
  }
  target[at] = rest;
}
