import { describe, expect, it } from 'vitest';
import { isExempt, parseEndpoint } from './forward-proxy.js';

describe('an endpoint', () => {
  it.each([
    ['gw.example.org:443', { host: 'gw.example.org', port: 443 }],
    ['127.0.0.1:1', { host: '127.0.0.1', port: 1 }],
    ['[::1]:65535', { host: '::1', port: 65_535 }],
  ])('%s', (text, endpoint) => {
    expect(parseEndpoint(text)).toEqual(endpoint);
  });

  it.each(['gw', ':443', 'gw:', 'gw:0', 'gw:65536', 'gw:4.5', 'gw:http', '[]:1', ''])('is not "%s"', (text) => {
    expect(() => parseEndpoint(text)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });
});

describe('NO_PROXY', () => {
  const gateway = { host: 'gw.example.org', port: 7000 };

  it.each([
    [['gw.example.org']],
    [['GW.Example.ORG']],
    [['example.org']],
    [['.example.org']],
    [['*.example.org']],
    [['other', ' example.org ']],
    [['example.org:7000']],
    [['*']],
  ])('%j exempts it', (noProxy) => {
    expect(isExempt(gateway, noProxy)).toBe(true);
  });

  it.each([
    [[]],
    [['']],
    [['ample.org']],
    [['example.org:7001']],
    [['w.example.org']],
    [['gw.example.org.evil']],
    [['.']],
  ])('%j does not', (noProxy) => {
    expect(isExempt(gateway, noProxy)).toBe(false);
  });

  it.each([
    ['10.1.2.3', ['10.1.2.3'], true],
    ['10.1.2.3', ['10.0.0.0/8'], true],
    ['11.1.2.3', ['10.0.0.0/8'], false],
    ['10.1.2.3', ['10.1.2.3/33'], false],
    ['::1', ['::1'], true],
    ['::1', ['[::1]'], true],
    ['::1', ['[::1]:7000'], true],
    ['::1', ['[::1]:1'], false],
    ['fd00::5', ['fd00::/8'], true],
  ])('%s in %j: %s', (host, noProxy, exempt) => {
    expect(isExempt({ host, port: 7000 }, noProxy)).toBe(exempt);
  });
});
