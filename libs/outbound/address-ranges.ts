import { BlockList, isIP, isIPv4 } from 'node:net';
import { FairleadError } from '@fairlead/errors';

const MAX_RANGES = 64;

/** Ranges of IP addresses, as an operator writes them. */
export class AddressRanges {
  static readonly NONE = new AddressRanges(new BlockList());
  static readonly ALL = AddressRanges.parse('0.0.0.0/0,::/0');

  private constructor(private readonly list: BlockList) {}

  /** `10.0.0.0/8,fd00::/8`; an address without a length is that one alone. Throws INVALID_ARGUMENT. */
  static parse(text: string): AddressRanges {
    const ranges = text
      .split(',')
      .map((range) => range.trim())
      .filter((range) => range !== '');
    if (ranges.length > MAX_RANGES) throw new FairleadError('INVALID_ARGUMENT', `at most ${MAX_RANGES} ranges`);
    const list = new BlockList();
    for (const range of ranges) add(list, range);
    return new AddressRanges(list);
  }

  has(address: string): boolean {
    const [plain = address] = address.split('%');
    // What an IPv6 socket calls an IPv4 address is that address.
    const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1] ?? plain;
    if (isIP(mapped) === 0) return false;
    return this.list.check(mapped, isIPv4(mapped) ? 'ipv4' : 'ipv6');
  }
}

function add(list: BlockList, range: string): void {
  const [net = '', length, ...rest] = range.split('/');
  const family = isIP(net);
  const bits = family === 4 ? 32 : 128;
  const prefix = length === undefined ? bits : Number(length);
  const isLength = length === undefined || (/^\d{1,3}$/.test(length) && prefix <= bits);
  if (family === 0 || !isLength || rest.length > 0) {
    throw new FairleadError('INVALID_ARGUMENT', `not a range of addresses, such as 10.0.0.0/8: ${range.slice(0, 64)}`);
  }
  list.addSubnet(net, prefix, family === 4 ? 'ipv4' : 'ipv6');
}
