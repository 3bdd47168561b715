import { describe, expect, it } from 'vitest';
import { judgeLoopback, type LoopbackRequest } from './loopback-answer.js';

const authority = '127.0.0.1:4711';
const expected = { authority, path: '/callback', state: 'drawn-for-this-login' };
const judge = (more: Partial<LoopbackRequest>) =>
  judgeLoopback(
    { method: 'GET', target: '/callback?code=c&state=drawn-for-this-login', host: authority, ...more },
    expected,
  );
const target = (text: string) => judge({ target: text });

describe('the answer to a login', () => {
  it.each([
    ['a code', '/callback?code=c&state=drawn-for-this-login', 'code=c&state=drawn-for-this-login'],
    [
      'a refusal',
      '/callback?error=access_denied&state=drawn-for-this-login',
      'error=access_denied&state=drawn-for-this-login',
    ],
  ])('is %s with the state that was drawn', (_, text, query) => {
    expect(target(text)).toEqual({ kind: 'answer', url: new URL(`http://${authority}/callback?${query}`) });
  });
});

describe('a request that is none', () => {
  it.each([
    ['no state', '/callback?code=c'],
    ['another state', '/callback?code=c&state=drawn-for-another'],
    ['an empty state', '/callback?code=c&state='],
    ['the state and another one', '/callback?code=c&state=drawn-for-this-login&state=x'],
    ['another state and ours', '/callback?code=c&state=x&state=drawn-for-this-login'],
    ['neither code nor error', '/callback?state=drawn-for-this-login'],
  ])('of another login is turned away: %s', (_, text) => {
    expect(target(text)).toEqual({ kind: 'foreign', status: 400, why: 'state' });
  });

  it.each([
    '/',
    '/callback/',
    '/callback/x?code=c&state=drawn-for-this-login',
    '/Callback?code=c&state=drawn-for-this-login',
    '//callback?code=c&state=drawn-for-this-login',
    '//evil.example/callback?code=c&state=drawn-for-this-login',
    'http://evil.example/callback?code=c&state=drawn-for-this-login',
    '/x/../callback?code=c&state=drawn-for-this-login',
    '/%63allback?code=c&state=drawn-for-this-login',
    '*',
    undefined,
  ])('of another path is not found: %s', (text) => {
    expect(judge({ target: text })).toEqual({ kind: 'foreign', status: 404, why: 'path' });
  });

  it.each([
    'localhost:4711',
    '127.0.0.1',
    '127.0.0.1:4712',
    'evil.example',
    'evil.example:4711',
    '[::1]:4711',
    '',
    undefined,
  ])('of a page elsewhere whose name leads here is misdirected: %s', (host) => {
    expect(judge({ host })).toEqual({ kind: 'foreign', status: 421, why: 'host' });
  });

  it.each(['POST', 'HEAD', 'OPTIONS', undefined])('by another method is refused: %s', (method) => {
    expect(judge({ method })).toEqual({ kind: 'foreign', status: 405, why: 'method' });
  });
});
