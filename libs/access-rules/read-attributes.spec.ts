import { FairleadError } from '@fairlead/errors';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readAttributes } from './read-attributes.js';
import { REQUESTS, told } from './testing/requests.js';

describe('what a request asks for', () => {
  it.each(REQUESTS)('%s %s', (method, target, expected) => {
    expect(told(method, target)).toBe(expected);
  });

  it.each([
    ['GET', '//api/v1/secrets'],
    ['GET', '/api//v1/secrets'],
    ['GET', '/api/v1//secrets'],
    ['GET', '/api/v1/namespaces//secrets'],
    ['GET', '/api/v1/namespaces/shop/pods//exec'],
    ['GET', '/api/v1/secrets//'],
    ['GET', '/healthz/../api/v1/secrets'],
    ['GET', '/api/v1/namespaces/a%2Fb/secrets'],
    ['GET', '/api%2fv1/secrets'],
    ['GET', '/api/v1/watch'],
    ['GET', '/apis/apps/v1/proxy'],
    ['GET', '/api/v1/namespaces/%zz/pods'],
    ['GET', '/api/v1/namespaces/%ff/pods'],
    ['GET', '/api/v1/namespaces/shöp/pods'],
    ['GET', '/api/v1/pods?watch=0&watch=1'],
    ['GET', '/api/v1/pods?fieldSelector=metadata.name%3Da&fieldSelector=metadata.name%3Db'],
    ['GET', '/api/v1/pods?limit=1;watch=1'],
    ['GET', '/api/v1/pods?watch=%zz'],
  ])('is refused where two readers could differ: %s %s', (method, target) => {
    expect(() => readAttributes(method, target)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });

  // With a pattern for the slashes at its end, one such path of 60 KB took 27 s of everybody's time.
  it.each([
    ['of a resource', '/api/v1/namespaces/shop/services/web/proxy/'],
    ['of a URL', '/metrics/'],
  ])('is read at once, however many slashes are in the path %s', (_what, path) => {
    const before = process.cpuUsage();
    readAttributes('GET', `${path}${'/'.repeat(60_000)}x`);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(1_000);
  });

  it.each(['CONSTRUCTOR', 'QUERY', '__PROTO__'])('is no verb of Kubernetes’ for the method %s', (method) => {
    expect(readAttributes(method, '/api/v1/pods')).toMatchObject({ verb: '', resource: 'pods' });
  });

  it.each(['get', 'Delete', 'pATCH', 'constructor', '__proto__', 'toString'])(
    'is not read by the method %s',
    (method) => {
      for (const target of ['/api/v1/pods', '/version'])
        expect(() => readAttributes(method, target)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
    },
  );

  it('throws nothing else, whatever it is given', () => {
    const word = fc.constantFrom(
      'api',
      'apis',
      'v1',
      'namespaces',
      'pods',
      'watch',
      'proxy',
      '',
      '.',
      '%',
      '%2f',
      'é',
      ';',
    );
    const target = fc.tuple(fc.array(word), fc.string()).map(([path, query]) => `/${path.join('/')}?${query}`);
    const thrownBy = (method: string, asked: string): unknown => {
      try {
        readAttributes(method, asked);
        return undefined;
      } catch (error) {
        return error;
      }
    };
    fc.assert(
      fc.property(fc.string(), target, (method, asked) => {
        const thrown = thrownBy(method, asked);
        expect(thrown === undefined || thrown instanceof FairleadError).toBe(true);
      }),
    );
  });
});
