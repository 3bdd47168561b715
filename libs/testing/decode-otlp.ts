import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

export type AttributeValue = string | number | boolean;

/** A span as it came over the wire (opentelemetry.proto.trace.v1), with what its resource says. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty at the root of a trace. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client' | 'other';
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  readonly events: readonly string[];
  readonly failed: boolean;
  readonly statusMessage: string;
  readonly resource: Readonly<Record<string, AttributeValue>>;
}

/** Fields of one message by number; what is repeated has several values. */
type Fields = ReadonlyMap<number, readonly (Uint8Array | bigint | number)[]>;

const KINDS = new Map<unknown, ReceivedSpan['kind']>([
  [1n, 'internal'],
  [2n, 'server'],
  [3n, 'client'],
]);
const STATUS_ERROR = 2n;

/** Decodes an ExportTraceServiceRequest. Throws on what is not Protobuf. */
export function decodeSpans(body: Uint8Array): ReceivedSpan[] {
  return messages(fieldsOf(body), 1).flatMap((resourceSpans) => {
    const [resource] = messages(resourceSpans, 1);
    const attributes = resource ? attributesOf(resource, 1) : {};
    const spans = messages(resourceSpans, 2).flatMap((scopeSpans) => messages(scopeSpans, 2));
    return spans.map((span) => decodeSpan(span, attributes));
  });
}

function decodeSpan(span: Fields, resource: ReceivedSpan['resource']): ReceivedSpan {
  const [status] = messages(span, 15);
  return {
    traceId: hex(span, 1),
    spanId: hex(span, 2),
    parentSpanId: hex(span, 4),
    name: text(span, 5),
    kind: KINDS.get(span.get(6)?.[0]) ?? 'other',
    startNs: (span.get(7)?.[0] as bigint | undefined) ?? 0n,
    endNs: (span.get(8)?.[0] as bigint | undefined) ?? 0n,
    attributes: attributesOf(span, 9),
    events: messages(span, 11).map((event) => text(event, 2)),
    failed: status?.get(3)?.[0] === STATUS_ERROR,
    statusMessage: status ? text(status, 2) : '',
    resource,
  };
}

function attributesOf(message: Fields, field: number): Record<string, AttributeValue> {
  const pairs = messages(message, field).map((pair) => [text(pair, 1), valueOf(messages(pair, 2)[0])] as const);
  return Object.fromEntries(pairs);
}

/** An AnyValue: strings, booleans, integers and doubles are all that spans of ours have. */
function valueOf(value: Fields | undefined): AttributeValue {
  const [entry] = value ?? [];
  const [field, [raw] = []] = entry ?? [];
  if (field === 2) return raw === 1n;
  if (field === 3) return Number(raw);
  if (field === 4) return raw as number;
  return raw instanceof Uint8Array ? Buffer.from(raw).toString() : '';
}

function fieldsOf(bytes: Uint8Array): Fields {
  const reader = new BinaryReader(bytes);
  const fields = new Map<number, (Uint8Array | bigint | number)[]>();
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    const values = fields.get(field) ?? [];
    fields.set(field, [...values, read(reader, wireType, field)]);
  }
  return fields;
}

function read(reader: BinaryReader, wireType: WireType, field: number): Uint8Array | bigint | number {
  if (wireType === WireType.LengthDelimited) return reader.bytes();
  if (wireType === WireType.Varint) return BigInt(reader.int64());
  if (wireType === WireType.Bit32) return reader.fixed32();
  if (wireType !== WireType.Bit64) throw new Error(`field ${field} has wire type ${wireType}`);
  // Times are integers; the one double there is, is field 4 of an AnyValue.
  return field === 4 ? reader.double() : BigInt(reader.fixed64());
}

const bytesOf = (message: Fields, field: number): Uint8Array[] => [...((message.get(field) ?? []) as Uint8Array[])];
const messages = (message: Fields, field: number): Fields[] => bytesOf(message, field).map((bytes) => fieldsOf(bytes));
const hex = (message: Fields, field: number): string => Buffer.from(bytesOf(message, field)[0] ?? []).toString('hex');
const text = (message: Fields, field: number): string => Buffer.from(bytesOf(message, field)[0] ?? []).toString();
