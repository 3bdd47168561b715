import { BlockList, isIPv6 } from 'node:net';

/**
 * What is not the public internet: https://www.iana.org/assignments/iana-ipv4-special-registry and
 * https://www.iana.org/assignments/iana-ipv6-special-registry, and multicast.
 */
const SPECIAL_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
];
/** Within what is handed out to the public. Those that hold an IPv4 address are among them. */
const SPECIAL_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const blockedV4 = listOf(SPECIAL_V4, 'ipv4');
const blockedV6 = listOf(SPECIAL_V6, 'ipv6');
const globalUnicast = listOf(['2000::/3'], 'ipv6');

/** Is this IP address one of the public internet: not this machine, this network, or a range with a meaning of its own? */
export function isPublicAddress(address: string): boolean {
  if (!isIPv6(address)) return !blockedV4.check(address, 'ipv4');
  const [plain = address] = address.split('%');
  return globalUnicast.check(plain, 'ipv6') && !blockedV6.check(plain, 'ipv6');
}

function listOf(subnets: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [net = '', prefix] = subnet.split('/');
    list.addSubnet(net, Number(prefix), family);
  }
  return list;
}
