import { FairleadError } from '@fairlead/errors';
import { isInBlock, isWithin, parseIp, parseIpBlock, type IpAddress, type IpBlock } from './ip-address.js';
import { readTargetHost, withoutTrailingDot } from './target-address.js';

/** One thing that may be opened. */
export type TargetRule =
  | { readonly kind: 'block'; readonly block: IpBlock; readonly ports: PortRange }
  /** Labels from the left; `*` stands for one label, and as the first of several for one or more. */
  | { readonly kind: 'host'; readonly labels: readonly string[]; readonly ports: PortRange };

export interface PortRange {
  readonly from: number;
  readonly to: number;
}

const block = (text: string): IpBlock => parseIpBlock(text) as IpBlock;

/**
 * Addresses that no wide rule opens, because they are never meant by one: a rule must name a block inside the range.
 * Link-local and the metadata services of clouds (of Amazon and Google the whole prefix, as they add to it; then those of
 * Scaleway, Oracle, Akamai and Alibaba), unspecified, multicast, broadcast, and IPv6 ranges that stand for IPv4 addresses (RFC 6052, RFC 8215,
 * RFC 3056, RFC 4380, RFC 2765 2.1, RFC 4291 2.5.5.1), as they would lead around a check of the latter.
 */
const GUARDED: readonly IpBlock[] = [
  block('0.0.0.0/8'),
  block('169.254.0.0/16'),
  block('100.100.100.200'),
  block('168.63.129.16'),
  block('192.0.0.192'),
  block('224.0.0.0/4'),
  block('255.255.255.255'),
  block('fd00:ec2::/32'),
  block('fd20:ce::/32'),
  block('fd00:42::42'),
  block('fd00:c1::a9fe:a9fe'),
  block('fd00:a9fe:a9fe::1'),
  block('fd00:100::100:200'),
  block('fe80::/10'),
  block('ff00::/8'),
  block('64:ff9b::/96'),
  block('64:ff9b:1::/48'),
  block('2002::/16'),
  block('2001::/32'),
  block('::ffff:0:0:0/96'),
];
const IPV4_COMPATIBLE = block('::/96');
const LOOPBACK = block('::1');
const LOOPBACKS: readonly IpBlock[] = [block('127.0.0.0/8'), LOOPBACK];

/**
 * Reads `<CIDR or host pattern>:<port | from-to | *>`, such as `10.0.0.0/8:10250`, `*.shop.svc:443`, `[fd00::/8]:1-1024`.
 * Throws INVALID_ARGUMENT that names the rule and what to write instead.
 */
export function parseTargetRule(text: string): TargetRule {
  const at = text.lastIndexOf(':');
  if (at < 1) throw bad(text, 'end it with a port, such as :443, :1-1024 or :*');
  const ports = parsePorts(text.slice(at + 1), text);
  const place = text.slice(0, at);
  const bracketed = /^\[([^\][]+)\]$/.exec(place)?.[1];
  if (bracketed === undefined && place.includes(':')) {
    throw bad(text, 'put an IPv6 block into brackets, such as [fd00::/8]:443');
  }
  const found = parseIpBlock(bracketed ?? place);
  if (found) return { kind: 'block', block: found, ports };
  if (bracketed !== undefined || place.includes('/')) {
    throw bad(text, 'write the block with its first address, such as 10.0.0.0/8 or [fd00::/8]');
  }
  return { kind: 'host', labels: parsePattern(place, text), ports };
}

export interface PolicyOptions {
  /** Default ordinary: an agent's pod has nothing there but the agent. */
  readonly loopback?: 'ordinary' | 'guarded';
  /** Does a rule for a block let any name be resolved, as it may lead there, or only a rule for hosts those that it lists? Default any. */
  readonly names?: 'any' | 'listed';
}

/**
 * What is opened for raw TCP: nothing but what a rule allows. A name is looked at twice: before it is resolved, and
 * then each address it resolved to; only an address that was allowed here may be dialled.
 */
export class TargetPolicy {
  readonly #rules: readonly TargetRule[];
  readonly #guarded: readonly IpBlock[];
  readonly #names: 'any' | 'listed';

  constructor(rules: readonly TargetRule[], { loopback = 'ordinary', names = 'any' }: PolicyOptions = {}) {
    this.#rules = rules;
    this.#names = names;
    this.#guarded = loopback === 'guarded' ? [...GUARDED, ...LOOPBACKS] : GUARDED;
  }

  /** Could this name lead to anything that is allowed? If not, it is not even resolved. */
  allowsName(name: string, port: number): boolean {
    if (readTargetHost(name)?.kind !== 'name') return false;
    const byBlock = this.#names === 'any';
    return this.#rules.some(
      (rule) => covers(rule.ports, port) && (rule.kind === 'block' ? byBlock : matches(rule, name)),
    );
  }

  /** May this address be dialled, asked for as such or because `viaName` resolved to it? */
  allowsAddress(address: string, port: number, viaName?: string): boolean {
    const ip = parseIp(address);
    if (!ip) return false;
    const guard = guardOf(ip, this.#guarded);
    return this.#rules.some((rule) => {
      if (!covers(rule.ports, port)) return false;
      if (rule.kind === 'host') return !guard && viaName !== undefined && matches(rule, viaName);
      return isInBlock(ip, rule.block) && (!guard || isWithin(rule.block, guard));
    });
  }
}

function guardOf(ip: IpAddress, guarded: readonly IpBlock[]): IpBlock | undefined {
  if (isInBlock(ip, IPV4_COMPATIBLE) && !isInBlock(ip, LOOPBACK)) return IPV4_COMPATIBLE;
  return guarded.find((range) => isInBlock(ip, range));
}

function covers({ from, to }: PortRange, port: number): boolean {
  return Number.isInteger(port) && port >= from && port <= to;
}

function matches({ labels }: Extract<TargetRule, { kind: 'host' }>, name: string): boolean {
  if (readTargetHost(name)?.kind !== 'name') return false;
  const asked = withoutTrailingDot(name.toLowerCase()).split('.');
  const open = labels[0] === '*';
  if (open ? asked.length < labels.length : asked.length !== labels.length) return false;
  const compared = asked.slice(asked.length - labels.length);
  return labels.every((label, index) => label === '*' || label === compared[index]);
}

function parsePorts(text: string, rule: string): PortRange {
  if (text === '*') return { from: 1, to: 65_535 };
  const [, from = '', to = from] = /^([1-9]\d{0,4})(?:-([1-9]\d{0,4}))?$/.exec(text) ?? [];
  const range = { from: Number(from), to: Number(to) };
  if (from === '' || range.to > 65_535 || range.from > range.to) {
    throw bad(rule, 'the port must be one of 1 to 65535, a range such as 1-1024, or *');
  }
  return range;
}

function parsePattern(text: string, rule: string): string[] {
  const pattern = withoutTrailingDot(text.toLowerCase());
  const labels = pattern.split('.');
  if (labels.some((label) => label !== '*' && label.includes('*'))) {
    throw bad(rule, 'a * stands for a whole label, such as *.shop.svc');
  }
  // With a letter in the place of each *, it must be a name; so what looks like an address never is a pattern.
  const sample = pattern.replaceAll('*', 'x');
  if (readTargetHost(sample)?.kind !== 'name') {
    throw bad(rule, 'it names neither an address block (10.0.0.0/8) nor a host (*.shop.svc)');
  }
  return labels;
}

function bad(rule: string, mend: string): FairleadError {
  return new FairleadError(
    'INVALID_ARGUMENT',
    `the target rule ${JSON.stringify(rule.slice(0, 300))} is not valid: ${mend}`,
  );
}
