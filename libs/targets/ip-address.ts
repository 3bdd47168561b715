/** An IP address as a number. An IPv4 address in IPv6 clothes (`::ffff:a.b.c.d`) is the IPv4 address. */
export interface IpAddress {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

/** All addresses that begin with the same `prefix` bits. */
export interface IpBlock {
  readonly bits: 32 | 128;
  readonly base: bigint;
  readonly prefix: number;
}

const MAPPED = 0xffffn;

/**
 * Reads an address in its one ordinary spelling, or null: no leading zeros, octal, hexadecimal or shortened IPv4, no
 * zone, no brackets. What some resolvers would still take for an address is thereby not one here.
 */
export function parseIp(text: string): IpAddress | null {
  if (!text.includes(':')) {
    const value = parseIpv4(text);
    return value === null ? null : { bits: 32, value };
  }
  const value = parseIpv6(text);
  if (value === null) return null;
  return value >> 32n === MAPPED ? { bits: 32, value: value & 0xffff_ffffn } : { bits: 128, value };
}

/** `<address>/<prefix>`, or an address for itself alone; null if it is neither, or has bits beyond its prefix. */
export function parseIpBlock(text: string): IpBlock | null {
  const [, addressText = '', prefixText] = /^([^/]+)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text) ?? [];
  const address = parseIp(addressText);
  if (!address) return null;
  const { bits, value } = address;
  // A mapped block is written with the prefix of an IPv6 address; a shorter one than 96 would not be IPv4 alone.
  const written = addressText.includes(':') ? 128 : 32;
  const prefix = prefixText === undefined ? bits : Number(prefixText) - (written - bits);
  if (prefix < 0 || prefix > bits || (value & ((1n << BigInt(bits - prefix)) - 1n)) !== 0n) return null;
  return { bits, base: value, prefix };
}

export function isInBlock({ bits, value }: IpAddress, block: IpBlock): boolean {
  return bits === block.bits && (value ^ block.base) >> BigInt(bits - block.prefix) === 0n;
}

/** Is every address of the inner block in the outer one? */
export function isWithin(inner: IpBlock, outer: IpBlock): boolean {
  return inner.prefix >= outer.prefix && isInBlock({ bits: inner.bits, value: inner.base }, outer);
}

const OCTET = '(?:0|[1-9]\\d?|1\\d\\d|2[0-4]\\d|25[0-5])';
const IPV4 = new RegExp(`^${OCTET}(?:\\.${OCTET}){3}$`);

function parseIpv4(text: string): bigint | null {
  if (!IPV4.test(text)) return null;
  // As a number as long as it can be: this is done several times for each connection.
  return BigInt(text.split('.').reduce((value, octet) => value * 256 + Number(octet), 0));
}

function parseIpv6(text: string): bigint | null {
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const [head, tail] = [groupsOf(halves[0] ?? ''), groupsOf(halves[1] ?? '')];
  // Dotted groups may only stand last.
  if (!head || !tail || (halves.length === 2 && (halves[0] ?? '').includes('.'))) return null;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
  const groups = [...head, ...Array.from({ length: missing }, () => 0n), ...tail];
  return groups.reduce((value, group) => (value << 16n) | group, 0n);
}

function groupsOf(text: string): bigint[] | null {
  if (text === '') return [];
  const groups: bigint[] = [];
  const parts = text.split(':');
  for (const [index, part] of parts.entries()) {
    if (/^[0-9a-f]{1,4}$/i.test(part)) {
      groups.push(BigInt(`0x${part}`));
      continue;
    }
    const dotted = index === parts.length - 1 ? parseIpv4(part) : null;
    if (dotted === null) return null;
    groups.push(dotted >> 16n, dotted & 0xffffn);
  }
  return groups;
}
