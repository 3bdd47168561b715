import * as fc from 'fast-check';

type Spoil = (bytes: Buffer) => Buffer;

const at = (bytes: Buffer, position: number): number => (bytes.length === 0 ? 0 : position % bytes.length);

const spoil: fc.Arbitrary<Spoil> = fc.oneof(
  fc.constant<Spoil>((bytes) => bytes),
  fc.tuple(fc.nat(), fc.nat({ max: 255 })).map(([position, value]): Spoil => (bytes) => {
    const copy = Buffer.from(bytes);
    if (copy.length > 0) copy[at(copy, position)] = value;
    return copy;
  }),
  fc.nat().map(
    (position): Spoil =>
      (bytes) =>
        bytes.subarray(0, at(bytes, position)),
  ),
  fc.nat().map(
    (position): Spoil =>
      (bytes) =>
        bytes.subarray(at(bytes, position)),
  ),
  fc.tuple(fc.nat(), fc.uint8Array({ maxLength: 20 })).map(([position, extra]): Spoil => (bytes) => {
    const cut = at(bytes, position);
    return Buffer.concat([bytes.subarray(0, cut), extra, bytes.subarray(cut)]);
  }),
);

/** Streams made of these messages and of noise, in any order, with whole streams and single messages spoiled. */
export function mutation(messages: readonly Buffer[]): fc.Arbitrary<Buffer> {
  const message = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...messages) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)) },
  );
  const spoiled = fc.tuple(message, spoil).map(([bytes, change]) => change(bytes));
  return fc.tuple(fc.array(spoiled, { maxLength: 8 }), spoil).map(([parts, change]) => change(Buffer.concat(parts)));
}
