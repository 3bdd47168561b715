import { expect, it } from 'vitest';
import { parseEgressPort } from './egress-ports.js';

it('reads a port and where it leads', () => {
  expect(parseEgressPort('2222=git.example.com:22')).toEqual({
    port: 2222,
    upstream: { host: 'git.example.com', port: 22 },
  });
  expect(parseEgressPort('2223=[fd00::1]:22').upstream).toEqual({ host: 'fd00::1', port: 22 });
});

it.each(['git.example.com:22', '0=git:22', '70000=git:22', '22=', '22=git', '22=git:0', '22=0x7f.1:22', ' 22=git:22'])(
  'takes %s for no port, and says what to write',
  (text) => {
    expect(() => parseEgressPort(text)).toThrow('write <port>=<host>:<port>');
  },
);
