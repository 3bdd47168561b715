import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isLongRunning, isWatch, parseKubePath, whyAmbiguous } from './kube-path.js';

describe('a request target', () => {
  it('reaches the cluster byte for byte', () => {
    const safe = "abcXYZ019-_~!$&'()*+,;=:@".split('');
    const segment = fc
      .array(fc.oneof(fc.constantFrom(...safe, '.'), fc.constantFrom('%20', '%C3%A9', '%25')), { maxLength: 8 })
      .map((parts) => parts.join(''))
      .filter((text) => text !== '.' && text !== '..');
    const query = fc.array(fc.constantFrom(...safe, '%2F', '%2e%2e', '/', '?', '..', '.'), { maxLength: 12 });
    fc.assert(
      fc.property(fc.array(segment, { minLength: 1, maxLength: 6 }), fc.option(query), (segments, query) => {
        const rest = `/${segments.join('/')}${query ? `?${query.join('')}` : ''}`;
        expect(parseKubePath(`/clusters/demo${rest}`)).toEqual({ kind: 'cluster', cluster: 'demo', target: rest });
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['/clusters/demo', '/'],
    ['/clusters/demo?a=1', '/?a=1'],
    ['/clusters/demo/', '/'],
    ['/clusters/demo/api?b=2&a=1&b=1', '/api?b=2&a=1&b=1'],
    ['/clusters/demo//api', '//api'],
    ['/clusters/demo/api?x=/../', '/api?x=/../'],
  ])('%s → %s', (raw, target) => {
    expect(parseKubePath(raw)).toEqual({ kind: 'cluster', cluster: 'demo', target });
  });

  it.each([
    '/clusters/demo/..',
    '/clusters/demo/./api',
    '/clusters/../clusters/demo',
    '/clusters/demo/a/../../other/b',
    '/clusters/demo/%2e%2E/x',
    '/clusters/demo/api%2Fv1',
    '/clusters/demo/a%5cb',
    '/clusters/demo/a\\b',
    '/clusters/demo/%00',
    '/clusters/demo/a b',
    '/clusters/demo/a\tb',
    '/clusters/demo/a#b',
    '/clusters/demo/a?b c',
    '/clusters/demo/a?b\r\nX: y',
    '/clusters/demo/\u0100',
  ])('is refused: %j', (raw) => {
    expect(parseKubePath(raw)).toMatchObject({ kind: 'refused' });
    expect(whyAmbiguous(raw)).toMatch(/^the (path|query) holds /);
  });

  it.each(['', '*', 'api', '?watch=1', 'http://door/api'])('is no path at a host name of its own: %j', (raw) => {
    expect(whyAmbiguous(raw)).toBe('the path does not begin with a slash');
  });

  it.each(['/', '/api?x=/../', '//api', '/clusters/other/api'])('goes as it is: %j', (raw) => {
    expect(whyAmbiguous(raw)).toBeNull();
  });

  it.each([
    '/',
    '/healthz',
    '/cluster/demo',
    '/clusters',
    '/clusters/',
    '/clusters//api',
    '/clusters/Demo/api',
    '/clusters/-demo/api',
    '/clusters/a.b/api',
    '/clusters/de%6Do/api',
    `/clusters/${'a'.repeat(64)}/api`,
    'http://door/clusters/demo/api',
    '*',
    '',
  ])('is no cluster’s: %j', (raw) => {
    expect(parseKubePath(raw)).toEqual({ kind: 'not-a-cluster' });
  });

  it('never makes it throw, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 30 }), (text) => {
        expect(() => parseKubePath(`/clusters/demo/${text}`)).not.toThrow();
        expect(() => isLongRunning(`/${text}`)).not.toThrow();
      }),
    );
  });
});

describe('a long-running request', () => {
  it.each([
    '/api/v1/pods?watch=1',
    '/api/v1/pods?limit=5&watch=true',
    '/api/v1/watch/pods',
    '/apis/apps/v1/watch/deployments',
    '/api/v1/namespaces/n/pods/p/exec?command=sh',
    '/api/v1/namespaces/n/pods/p/log?follow=true',
    '/api/v1/namespaces/n/pods/p/portforward',
    '/api/v1/namespaces/n/services/s:80/proxy/metrics',
    '/api/v1/nodes/n/proxy/stats',
  ])('is %s', (target) => {
    expect(isLongRunning(target)).toBe(true);
  });

  it.each([
    '/api/v1/pods',
    '/api/v1/pods?watch=false',
    '/api/v1/pods?watch=0',
    '/api/v1/namespaces/log',
    '//[',
    '//x/exec',
  ])('is not %s', (target) => {
    expect(isLongRunning(target)).toBe(false);
  });
});

describe('a watch', () => {
  it.each(['/api/v1/pods?watch=1', '/api/v1/pods?limit=5&watch=true', '/api/v1/watch/pods'])('is %s', (target) => {
    expect(isWatch(target)).toBe(true);
  });

  it.each([
    '/api/v1/pods',
    '/api/v1/pods?watch=false',
    '/api/v1/namespaces/n/pods/p/log?follow=true&watch=true',
    '/api/v1/namespaces/n/services/s:80/proxy/metrics?watch=true',
    '/api/v1/nodes/n/proxy/stats?watch=1',
  ])('is not %s', (target) => {
    expect(isWatch(target)).toBe(false);
  });
});
