import { create, fromBinary, toBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { FrameSchema, OpenSchema, type Frame } from '@fairlead/proto';

export type FrameKind = Frame['kind'];
export type FrameCase = Exclude<FrameKind['case'], undefined>;
type FrameInit = NonNullable<MessageInitShape<typeof FrameSchema>['kind']>;

const PREFIX_BYTES = 5;

/**
 * The wire as PROTOCOL.md and gRPC define it, written down a second time on purpose: with the product's own encoder a
 * mistake in it would be invisible here.
 */
export function grpcMessage(body: Uint8Array, { flags = 0, announced = body.length } = {}): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix[0] = flags;
  prefix.writeUInt32BE(announced, 1);
  return Buffer.concat([prefix, body]);
}

export function frame(kind: FrameInit): Buffer {
  return grpcMessage(toBinary(FrameSchema, create(FrameSchema, { kind })));
}

export const opened = frame({ case: 'opened', value: {} });
export const eof = frame({ case: 'eof', value: {} });
export const data = (bytes: Uint8Array | string): Buffer => frame({ case: 'data', value: Buffer.from(bytes) });
export const refused = (code: string, message = 'as scripted'): Buffer =>
  frame({ case: 'refused', value: { code, message } });
export const reset = (code: string, message = 'as scripted'): Buffer =>
  frame({ case: 'reset', value: { code, message } });

export type OpenInit = MessageInitShape<typeof OpenSchema>;

/** An Open for the kube-apiserver as alice, unless told otherwise. */
export function open(clusterId: string, changes: OpenInit = {}): Buffer {
  return frame({ case: 'open', value: openOf(clusterId, changes) });
}

export function openOf(clusterId: string, changes: OpenInit = {}): ReturnType<typeof create<typeof OpenSchema>> {
  return create(OpenSchema, {
    tunnelId: 'conformance',
    tenantId: 'default',
    clusterId,
    generation: 1,
    target: { case: 'kubeApi', value: { user: 'alice' } },
    ...changes,
  });
}

/** What breaks the protocol in whatever state it comes, by what is wrong with it. */
export const MALFORMED: Readonly<Record<string, Buffer>> = {
  'an unknown kind': grpcMessage(Buffer.from([0x7a, 0])),
  'a compressed message': grpcMessage(Buffer.from([0x2a, 0]), { flags: 1 }),
  'an empty message': grpcMessage(Buffer.alloc(0)),
  'a control frame that announces more than 64 KiB': grpcMessage(Buffer.from([0x12]), { announced: 64 * 1024 + 1 }),
  'a data frame with a field after its data': grpcMessage(Buffer.from([0x0a, 1, 7, 0x2a, 0])),
  'a data frame with a field before its data': grpcMessage(Buffer.from([0x2a, 0, 0x0a, 1, 7])),
  'data that claims more than its message holds': grpcMessage(Buffer.from([0x0a, 9, 7])),
  'a data length that does not end': grpcMessage(Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1])),
  'something that is not protobuf': grpcMessage(Buffer.from([0x12, 0x7f])),
};

/** Puts whole gRPC messages together from the bytes of a stream. */
export class MessageReader {
  #held = Buffer.alloc(0);

  push(chunk: Buffer): Buffer[] {
    this.#held = Buffer.concat([this.#held, chunk]);
    const messages: Buffer[] = [];
    while (this.#held.length >= PREFIX_BYTES) {
      const end = PREFIX_BYTES + this.#held.readUInt32BE(1);
      if (this.#held.length < end) break;
      messages.push(this.#held.subarray(PREFIX_BYTES, end));
      this.#held = this.#held.subarray(end);
    }
    return messages;
  }
}

export const parseFrame = (message: Uint8Array): FrameKind => fromBinary(FrameSchema, message).kind;
