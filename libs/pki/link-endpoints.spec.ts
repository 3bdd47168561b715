import { expect, it } from 'vitest';
import { isEndpointAddress, readEndpoints, writeEndpoints, type LinkEndpoint } from './link-endpoints.js';

const one: LinkEndpoint = { address: 'eu.link.example.com:443', weight: 1, state: 'active' };
const full: LinkEndpoint = {
  ...one,
  address: '[fd00::7]:7444',
  serverName: 'link.example.com',
  region: 'eu-west-1',
  weight: 10,
  state: 'draining',
};
const refusal = { code: 'CERTIFICATE_REFUSED' };

it.each(['10.0.0.1:443', '[::1]:1', 'localhost:65535', 'a-b.example.com:7444'])('takes the address %s', (address) => {
  expect(isEndpointAddress(address)).toBe(true);
});

it.each([
  '10.0.0.1',
  'a:0',
  'a:65536',
  'a:01',
  ':443',
  '::1:443',
  '[10.0.0.1]:443',
  '[::1:443',
  'A:443',
  'a b:443',
  'a,b:443',
  '127.1:443',
  '0x7f000001:443',
  'user@a:443',
  'https://a:443',
  'a/b:443',
  '-a:443',
  `${'a'.repeat(64)}:443`,
  'a..b:443',
])('takes no %s for an address', (address) => {
  expect(isEndpointAddress(address)).toBe(false);
});

it('reads what it writes, and says nothing where nothing is said', () => {
  const written = JSON.parse(JSON.stringify(writeEndpoints({ endpoints: [one, full] }))) as object;
  expect(readEndpoints(written)).toEqual({ endpoints: [one, full] });
  expect(writeEndpoints({})).toEqual({});
  expect(readEndpoints({})).toEqual({});
  expect(readEndpoints(writeEndpoints({ endpoints: [] }))).toEqual({ endpoints: [] });
});

it.each<[string, Partial<LinkEndpoint>]>([
  ['no address', { address: 'nowhere' }],
  ['a weight of 0', { weight: 0 }],
  ['a weight above the highest', { weight: 1_001 }],
  ['half a weight', { weight: 0.5 }],
  ['a state that there is not', { state: 'gone' as 'active' }],
  ['a server name that is an address', { serverName: '10.0.0.1' }],
  ['a region with a dot', { region: 'eu.west' }],
])('writes none with %s, and leaves it out of what it reads', (_what, wrong) => {
  const bad = { ...full, ...wrong };
  expect(() => writeEndpoints({ endpoints: [one, bad] })).toThrow(expect.objectContaining(refusal));
  expect(readEndpoints({ endpoints: [one, bad, null, 7] })).toEqual({ endpoints: [one] });
});

it('takes a list of which nothing is understood for one that says nothing, not for none', () => {
  expect(readEndpoints({ endpoints: [{ uri: 'quic://a' }] })).toEqual({});
  expect(readEndpoints({ endpoints: 'none' })).toEqual({});
});

it('writes each address once, 32 at most, and no more than leave room for what is revoked', () => {
  const many = (count: number, name: string): LinkEndpoint[] =>
    Array.from({ length: count }, (_, index) => ({ ...one, address: `${name}n${index}:443` }));
  expect(() => writeEndpoints({ endpoints: [one, one] })).toThrow(expect.objectContaining(refusal));
  expect(() => writeEndpoints({ endpoints: many(33, 'a') })).toThrow(expect.objectContaining(refusal));
  expect(writeEndpoints({ endpoints: many(32, 'a') }).endpoints).toHaveLength(32);
  const long = `${'a'.repeat(60)}.`.repeat(4);
  expect(() => writeEndpoints({ endpoints: many(32, long) })).toThrow(/8192 are allowed/);
});
