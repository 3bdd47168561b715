import { isIP } from 'node:net';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseIp } from './ip-address.js';
import { readConnectTarget, readTargetHost } from './target-address.js';
import { TargetPolicy, parseTargetRule } from './target-policy.js';

const policy = (...rules: string[]): TargetPolicy => new TargetPolicy(rules.map(parseTargetRule));
const octet = fc.nat(255);
const ipv4 = fc.tuple(octet, octet, octet, octet).map((parts) => parts.join('.'));
const port = fc.integer({ min: 1, max: 65_535 });
const mapped = (address: string): string => `::ffff:${address}`;
const hexMapped = (address: string): string => {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  return `0:0:0:0:0:FFFF:${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
};

const GUARDED = [
  '169.254.169.254',
  '169.254.0.1',
  '0.0.0.0',
  '0.1.2.3',
  '224.0.0.1',
  '239.255.255.255',
  '255.255.255.255',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  '::',
  'fe80::1',
  'febf::1',
  'ff02::1',
  'fd00:ec2::254',
  'FD00:0EC2:0:0:0:0:0:0254',
  'fd00:ec2::23',
  'fd20:ce::254',
  'fd00:42::42',
  'fd00:c1::a9fe:a9fe',
  'fd00:a9fe:a9fe::1',
  'fd00:100::100:200',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b::169.254.169.254',
  '64:ff9b:1::169.254.169.254',
  '2002:a9fe:a9fe::1',
  '2001::a9fe:a9fe',
  '2001:0:4136:e378:8000:63bf:5601:5601',
  '::ffff:0:169.254.169.254',
  '::169.254.169.254',
  '::ffff:169.254.169.254',
  '::ffff:a9fe:a9fe',
];

describe('a policy', () => {
  it('without rules allows nothing', () => {
    fc.assert(
      fc.property(ipv4, port, (address, at) => {
        expect(policy().allowsAddress(address, at)).toBe(false);
        expect(policy().allowsAddress(address, at, 'db.shop.svc')).toBe(false);
      }),
    );
    expect(policy().allowsName('db.shop.svc', 443)).toBe(false);
  });

  it('allows exactly the addresses of a block, whichever way they are dressed', () => {
    fc.assert(
      fc.property(ipv4, fc.nat(32), ipv4, port, (base, prefix, address, at) => {
        const value = Number(parseIp(base)?.value ?? 0n);
        const size = 2 ** (32 - prefix);
        const first = Math.floor(value / size) * size;
        const rule = `${[24, 16, 8, 0].map((shift) => Math.floor(first / 2 ** shift) % 256).join('.')}/${prefix}:${at}`;
        const asked = Number(parseIp(address)?.value ?? 0n);
        const inside = asked >= first && asked < first + size;
        const answers = [address, mapped(address), hexMapped(address)].map((spelling) =>
          policy(rule).allowsAddress(spelling, at),
        );
        expect(new Set(answers).size).toBe(1);
        const ordinary = asked >>> 24 >= 1 && asked >>> 24 < 100;
        expect(ordinary ? answers[0] === inside : !answers[0] || inside).toBe(true);
        expect(policy(rule).allowsAddress(address, at === 65_535 ? 1 : at + 1)).toBe(false);
      }),
      { numRuns: 1_000 },
    );
  });

  it('lets a mapped rule mean the IPv4 addresses', () => {
    const rules = policy('[::ffff:10.0.0.0/104]:80');
    expect(rules.allowsAddress('10.9.9.9', 80)).toBe(true);
    expect(rules.allowsAddress('11.0.0.1', 80)).toBe(false);
  });

  it.each(GUARDED)('needs %s named, however wide the other rules are', (address) => {
    const wide = policy('0.0.0.0/0:*', '[::/0]:*', '128.0.0.0/1:*', '[8000::/1]:*', '[fd00::/8]:*', '*:*');
    expect(wide.allowsAddress(address, 80)).toBe(false);
    expect(wide.allowsAddress(address, 80, 'meta.example')).toBe(false);
  });

  it.each([
    ['169.254.169.254:80', '169.254.169.254'],
    ['169.254.0.0/16:80', '169.254.169.254'],
    ['169.254.169.254:80', '::ffff:169.254.169.254'],
    ['[fd00:ec2::254]:80', 'fd00:ec2::254'],
    ['[fe80::/10]:80', 'fe80::1'],
    ['[fd00:ec2::/32]:80', 'fd00:ec2::23'],
    ['[fd20:ce::254]:80', 'fd20:ce::254'],
    ['[fd00:42::42]:80', 'fd00:42::42'],
    ['[64:ff9b::a9fe:a9fe]:80', '64:ff9b::169.254.169.254'],
  ])('opens a guarded address that a rule names: %s', (rule, address) => {
    expect(policy(rule).allowsAddress(address, 80)).toBe(true);
    expect(policy(rule).allowsAddress(address, 81)).toBe(false);
  });

  it.each(['2001:db8::1', '2001:4860::1', 'fd00:42::41', 'fd00:ec3::1', 'fd20:cf::1', '::ffff:1:0:0'])(
    'takes %s for an ordinary address',
    (address) => expect(policy('[::/0]:*').allowsAddress(address, 80)).toBe(true),
  );

  it('takes a name for what it resolved to: any ordinary address by its pattern, else by the blocks', () => {
    const rules = policy('*.shop.svc:443', '10.0.0.0/8:10250');
    expect(rules.allowsAddress('8.8.8.8', 443, 'db.shop.svc')).toBe(true);
    expect(rules.allowsAddress('8.8.8.8', 443)).toBe(false);
    expect(rules.allowsAddress('8.8.8.8', 443, 'db.other.svc')).toBe(false);
    expect(rules.allowsName('node-1', 10_250)).toBe(true);
    expect(rules.allowsAddress('10.0.0.1', 10_250, 'node-1')).toBe(true);
    expect(rules.allowsAddress('11.0.0.1', 10_250, 'node-1')).toBe(false);
    expect(rules.allowsName('node-1', 22)).toBe(false);
    expect(policy('10.0.0.0/8:443').allowsAddress('127.0.0.1', 443, 'localhost')).toBe(false);
  });

  it.each([
    ['*.shop.svc', 'db.shop.svc', true],
    ['*.shop.svc', 'DB.Shop.SVC.', true],
    ['*.SHOP.svc.', 'db.shop.svc', true],
    ['*.shop.svc', 'pod-0.db.shop.svc', true],
    ['*.shop.svc', 'shop.svc', false],
    ['*.shop.svc', 'xshop.svc', false],
    ['*.shop.svc', 'a.shop.svc.evil.example', false],
    ['*.shop.svc', 'a.shop.svc..', false],
    ['*.shop.svc', '.shop.svc', false],
    ['db.shop.svc', 'db.shop.svc', true],
    ['db.shop.svc', 'a.db.shop.svc', false],
    ['db.*.svc', 'db.shop.svc', true],
    ['db.*.svc', 'db.a.b.svc', false],
    ['*', 'anything.example', true],
    ['*', '10.0.0.1', false],
    ['*', '2130706433', false],
  ])('pattern %s and the name %s: %s', (pattern, name, expected) => {
    expect(policy(`${pattern}:443`).allowsName(name, 443)).toBe(expected);
    expect(policy(`${pattern}:443`).allowsAddress('10.0.0.1', 443, name)).toBe(expected);
  });

  it('never throws and never allows what it cannot read', () => {
    const rules = policy('0.0.0.0/0:*', '[::/0]:*', '*:*');
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), port, (text, at) => {
        expect(rules.allowsAddress(text, at) && !parseIp(text)).toBe(false);
        expect(rules.allowsName(text, at) && readTargetHost(text)?.kind !== 'name').toBe(false);
      }),
      { numRuns: 1_000 },
    );
    for (const at of [0, -1, 65_536, 1.5, Number.NaN]) expect(rules.allowsAddress('10.0.0.1', at)).toBe(false);
  });
});

it('reads exactly the addresses that the runtime takes for one, zones apart', () => {
  const part = fc.constantFrom(
    '0',
    '00',
    '1',
    '9',
    '255',
    '256',
    'ff',
    'FFFF',
    '10000',
    ':',
    '::',
    '.',
    '127.0.0.1',
    '%1',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.ipV4(),
        fc.ipV6(),
        fc.array(part, { maxLength: 16 }).map((all) => all.join('')),
      ),
      (text) => {
        expect(parseIp(text) !== null).toBe(isIP(text) !== 0 && !text.includes('%'));
      },
    ),
    { numRuns: 5_000 },
  );
});

describe('a rule', () => {
  it.each([
    '',
    'x',
    ':443',
    '10.0.0.0/8',
    '10.0.0.0/8:',
    '10.0.0.0/8:0',
    '10.0.0.0/8:65536',
    '10.0.0.0/8:080',
    '10.0.0.0/8:9-1',
    '10.0.0.0/8:-5',
    '10.0.0.0/8:1-2-3',
    '10.0.0.1/8:80',
    '10.0.0.0/33:80',
    '10.0.0.0/08:80',
    '010.0.0.0/8:80',
    '10.0/8:80',
    '10.0.0:80',
    '0x7f.0.0.1:80',
    '2130706433:80',
    'fd00::/8:443',
    '[fd00::/8:443',
    '[fd00::1/8]:443',
    '[10.0.0.0/8:443',
    '[host.svc]:443',
    '[fe80::1%eth0]:80',
    'a*.svc:443',
    '*a.svc:443',
    '**.svc:443',
    'a..b:443',
    '-a.b:443',
    'a b:443',
    'unix:/run/x.sock:80',
    'http://host:80',
    'h\u00f6st:80',
    '::ffff:0:0/95:80',
  ])('is refused, by name: %j', (text) => {
    expect(() => parseTargetRule(text)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(JSON.stringify(text)) }),
    );
  });
});

describe('a target of CONNECT', () => {
  it.each([
    ['db.shop.svc:5432', { host: 'db.shop.svc', port: 5432 }],
    ['DB.Shop.svc.:1', { host: 'db.shop.svc.', port: 1 }],
    ['10.0.0.1:65535', { host: '10.0.0.1', port: 65_535 }],
    ['[fd00::1]:443', { host: 'fd00::1', port: 443 }],
  ])('%s', (text, expected) => expect(readConnectTarget(text)).toEqual(expected));

  it.each([
    '',
    'host',
    'host:',
    'host:0',
    'host:65536',
    'host:080',
    'host:1x',
    ':443',
    '010.0.0.1:80',
    '127.1:80',
    '0x7f000001:80',
    '2130706433:80',
    '1.2.3.4.5:80',
    'fd00::1:443',
    '[host]:443',
    '[10.0.0.1]:80',
    '[fe80::1%eth0]:80',
    '[::1:80',
    '::1]:80',
    'user@host:80',
    'http://host:80',
    'unix:/run/x.sock',
    'host:80/path',
    'ho st:80',
    'h%6fst:80',
    'a..b:80',
    '.:80',
    `${'a'.repeat(64)}:80`,
    `${'a.'.repeat(127)}a:80`,
    'host:80\n',
  ])('is refused: %j', (text) => expect(readConnectTarget(text)).toBeNull());
});
