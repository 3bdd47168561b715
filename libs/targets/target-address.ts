import { parseIp } from './ip-address.js';

/** What a client asked for, in the one spelling that is compared, logged and sent on. */
export interface TargetAddress {
  readonly kind: 'address' | 'name';
  /** Lower case; an IPv6 address without brackets, a name with its trailing dot if it had one. */
  readonly host: string;
}

const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
/** A last label that resolvers may read as (part of) an IPv4 address: 2130706433, 0x7f, 010. */
const NUMERIC = /^(?:\d+|0x[0-9a-f]*)$/;

/**
 * The host of a target, or null: neither an address in its ordinary spelling nor a DNS name. Names whose last label is a
 * number are not names: `127.1`, `0x7f000001` and `0177.0.0.1` would reach 127.0.0.1 through a resolver.
 */
export function readTargetHost(text: string): TargetAddress | null {
  const host = text.toLowerCase();
  if (parseIp(host)) return { kind: 'address', host };
  return isName(host) ? { kind: 'name', host } : null;
}

/** The authority-form of CONNECT (RFC 9112, 3.2.3): `name:port`, `1.2.3.4:port`, `[v6]:port`; or null. */
export function readConnectTarget(text: string): { readonly host: string; readonly port: number } | null {
  const [, bracketed, plain, portText = ''] = /^(?:\[([^\][]+)\]|([^:[\]]+)):([1-9]\d{0,4})$/.exec(text) ?? [];
  const port = Number(portText);
  const target = readTargetHost(bracketed ?? plain ?? '');
  if (!target || port > 65_535 || (bracketed !== undefined) !== target.host.includes(':')) return null;
  return { host: target.host, port };
}

export function withoutTrailingDot(name: string): string {
  return name.endsWith('.') ? name.slice(0, -1) : name;
}

function isName(host: string): boolean {
  const name = withoutTrailingDot(host);
  if (name.length === 0 || name.length > 253) return false;
  const labels = name.split('.');
  return labels.every((label) => LABEL.test(label)) && !NUMERIC.test(labels.at(-1) ?? '');
}
