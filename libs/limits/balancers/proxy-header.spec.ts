import { describe, expect, it } from 'vitest';
import { readProxyHeader } from './proxy-header.js';

const SIGNATURE = '0d0a0d0a000d0a515549540a';
const header = (rest: string): Buffer => Buffer.from(SIGNATURE + rest.replaceAll(' ', ''), 'hex');

/** From 192.0.2.7, port 40000, to 198.51.100.1, port 443. */
const IPV4 = header('21 11 000c c0000207 c6336401 9c40 01bb');
const IPV6 = header(`21 21 0024 20010db8${'00'.repeat(11)}07 20010db8${'00'.repeat(11)}01 9c40 01bb`);
const LOCAL = header('20 00 0000');

describe('readProxyHeader', () => {
  it.each([
    ['over IPv4', IPV4, { kind: 'client', address: '192.0.2.7', bytes: 28 }],
    ['over IPv6', IPV6, { kind: 'client', address: '2001:db8::7', bytes: 52 }],
    ['that is the balancer', LOCAL, { kind: 'local', bytes: 16 }],
    [
      'that is the balancer, with addresses',
      header('20 11 000c c0000207 c6336401 9c40 01bb'),
      { kind: 'local', bytes: 28 },
    ],
    [
      'with more behind its addresses',
      header('21 11 0011 c0000207 c6336401 9c40 01bb 04 0002 0000'),
      { kind: 'client', address: '192.0.2.7', bytes: 33 },
    ],
  ])('tells a client %s, however it comes, and where it ends', (_who, bytes, expected) => {
    for (let length = 0; length < bytes.length; length += 1) {
      expect(readProxyHeader(bytes.subarray(0, length))).toEqual({ kind: 'incomplete' });
    }
    expect(readProxyHeader(bytes)).toEqual(expected);
    expect(readProxyHeader(Buffer.concat([bytes, Buffer.from('160301', 'hex')]))).toEqual(expected);
  });

  it.each([
    ['TLS at once', Buffer.from('16', 'hex'), 'no PROXY header came'],
    ['one wrong byte of the signature', Buffer.from(SIGNATURE.replace('51', '52'), 'hex'), 'no PROXY header came'],
    ['version 1', Buffer.from('PROXY TCP4 192.0.2.7'), 'of version 1'],
    ['another version', header('31 11 000c'), 'not of version 2'],
    ['an unknown command', header('22 11 000c'), 'unknown command'],
    ['UDP', header('21 12 000c'), 'names no TCP client'],
    ['a socket of the file system', header('21 31 00d8'), 'names no TCP client'],
    ['nobody', header('21 00 0000'), 'names no TCP client'],
    ['addresses cut short', header('21 11 000b'), 'too short'],
    ['IPv6 addresses of the length of IPv4', header('21 21 000c'), 'too short'],
    ['more than a header needs', header('21 11 0ff1'), 'longer than 4096 bytes'],
    ['more than a header of the balancer needs', header('20 00 ffff'), 'longer than 4096 bytes'],
  ])('refuses %s, without waiting for more', (_what, bytes, why) => {
    expect(readProxyHeader(bytes)).toMatchObject({ kind: 'refused', why: expect.stringContaining(why) as string });
  });

  it('waits for what may still become version 1, to say so', () => {
    expect(readProxyHeader(Buffer.from('PRO'))).toEqual({ kind: 'incomplete' });
  });
});
