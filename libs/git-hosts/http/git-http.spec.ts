import { describe, expect, it } from 'vitest';
import { redirectTarget } from './git-http.js';

const API = new URL('https://git.example.com:8443/base/api/v4');
const from = (method: 'GET' | 'POST' | 'DELETE') => ({
  method,
  url: new URL(`${API.href}/projects/1?page=2`),
  headers: {},
});
const to = (location: string | undefined) => ({
  status: 301,
  headers: location === undefined ? {} : { location },
  body: undefined,
});
const follow = (location: string | undefined, api = API) =>
  redirectTarget(from('GET'), to(location), api, 'a test').href;

describe('a redirect', () => {
  it.each([
    ['https://git.example.com:8443/base/api/v4/projects/7', 'https://git.example.com:8443/base/api/v4/projects/7'],
    ['/base/api/v4/projects/7?a=b#top', 'https://git.example.com:8443/base/api/v4/projects/7?a=b'],
    ['7', 'https://git.example.com:8443/base/api/v4/projects/7'],
  ])('may lead to %s', (location, target) => {
    expect(follow(location)).toBe(target);
  });

  it.each([
    undefined,
    '',
    'http://git.example.com:8443/base/api/v4/projects/7',
    'https://git.example.com/base/api/v4/projects/7',
    'https://git.example.com:8444/base/api/v4/projects/7',
    'https://git.example.com.evil.example:8443/base/api/v4/projects/7',
    'https://git.example.com:8443@evil.example/base/api/v4/projects/7',
    'https://me:secret@git.example.com:8443/base/api/v4/projects/7',
    '//evil.example/base/api/v4/projects/7',
    '\\\\evil.example/base/api/v4/projects/7',
    '/base/api/v4/../../admin',
    '/base/api/v4/%2e%2e/v3/admin',
    '/base/api/v44/projects/7',
    '/base/api/v4',
    '/',
    'javascript:alert(1)',
    'file:///etc/passwd',
    'https://[',
    `/base/api/v4/${'x'.repeat(3_000)}`,
  ])('does not lead to %j', (location) => {
    expect(() => follow(location)).toThrow('redirects to another place');
  });

  it('stays on a host whose API is at its root', () => {
    const root = new URL('https://git.example.com:8443');
    expect(follow('/repositories/1', root)).toBe('https://git.example.com:8443/repositories/1');
    expect(() => follow('https://example.com/repositories/1', root)).toThrow('redirects to another place');
  });

  it.each(['POST', 'DELETE'] as const)('is not for a %s', (method) => {
    const target = () => redirectTarget(from(method), to('/base/api/v4/projects/7'), API, 'a test');
    expect(target).toThrow('the repository has moved');
  });
});
