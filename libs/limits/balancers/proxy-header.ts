import { SocketAddress } from 'node:net';

/** What a connection from a balancer began with. `bytes`: how long the header is. */
export type ProxyHeader =
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'client'; readonly address: string; readonly bytes: number }
  /** The balancer speaks for itself: it looks whether this port is well. */
  | { readonly kind: 'local'; readonly bytes: number }
  | { readonly kind: 'refused'; readonly why: string };

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const FIXED_BYTES = 16;
/** With all that balancers add behind the addresses; no header has to be longer. */
const MAX_BYTES = 4_096;
const VERSION_1 = Buffer.from('PROXY ', 'latin1');
const [LOCAL, PROXY] = [0x20, 0x21];
/** TCP over IPv4 and over IPv6. Two addresses and two ports follow; the client's address is the first. */
const FAMILIES: ReadonlyMap<number, { readonly addressBytes: number; readonly blockBytes: number }> = new Map([
  [0x11, { addressBytes: 4, blockBytes: 12 }],
  [0x21, { addressBytes: 16, blockBytes: 36 }],
]);

/** Reads the header of the PROXY protocol, version 2, that these bytes begin with. Looks at no more of them than it needs to refuse. */
export function readProxyHeader(bytes: Buffer): ProxyHeader {
  if (!beginsLike(bytes, SIGNATURE)) return withoutSignature(bytes);
  if (bytes.length < FIXED_BYTES) return { kind: 'incomplete' };
  const [command = 0, family = 0] = bytes.subarray(SIGNATURE.length);
  const length = FIXED_BYTES + bytes.readUInt16BE(FIXED_BYTES - 2);
  if (command !== LOCAL && command !== PROXY)
    return refused('the PROXY header is not of version 2, or has an unknown command');
  if (length > MAX_BYTES) return refused(`the PROXY header is longer than ${MAX_BYTES} bytes`);
  const layout = FAMILIES.get(family);
  if (command === PROXY && !layout) return refused('the PROXY header names no TCP client with an IPv4 or IPv6 address');
  if (command === PROXY && layout && length < FIXED_BYTES + layout.blockBytes)
    return refused('the PROXY header is too short for its addresses');
  if (bytes.length < length) return { kind: 'incomplete' };
  if (command === LOCAL || !layout) return { kind: 'local', bytes: length };
  const address = bytes.subarray(FIXED_BYTES, FIXED_BYTES + layout.addressBytes);
  return { kind: 'client', address: textOf(address), bytes: length };
}

function withoutSignature(bytes: Buffer): ProxyHeader {
  if (!beginsLike(bytes, VERSION_1))
    return refused('no PROXY header came, which a balancer must send (HAProxy: send-proxy-v2)');
  if (bytes.length < VERSION_1.length) return { kind: 'incomplete' };
  return refused('the PROXY header is of version 1: let the balancer send version 2 (HAProxy: send-proxy-v2)');
}

/** As far as there are bytes. */
function beginsLike(bytes: Buffer, expected: Buffer): boolean {
  const length = Math.min(bytes.length, expected.length);
  return bytes.subarray(0, length).equals(expected.subarray(0, length));
}

function textOf(address: Buffer): string {
  if (address.length === 4) return address.join('.');
  const groups = Array.from({ length: 8 }, (_, at) => address.readUInt16BE(2 * at).toString(16));
  return new SocketAddress({ address: groups.join(':'), family: 'ipv6' }).address;
}

function refused(why: string): ProxyHeader {
  return { kind: 'refused', why };
}
