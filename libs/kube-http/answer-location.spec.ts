import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { locatedWithin } from './answer-location.js';

describe('a redirect of a cluster', () => {
  it.each([301, 302, 303, 307, 308])('stays below the cluster (%i)', (status) => {
    const raw = ['Warning', '299 - "x"', 'Location', '/api/v1/namespaces?limit=1'];
    expect(locatedWithin(raw, status, '/clusters/a')).toEqual([
      ...raw.slice(0, 3),
      '/clusters/a/api/v1/namespaces?limit=1',
    ]);
  });

  it.each([
    'http://thief.example/steal',
    'https://gateway.example/clusters/b/api',
    '//thief.example/',
    '/\\thief.example/',
    '\\\\thief.example/',
    '/../b/api/v1/namespaces/kube-system',
    '/x/%2e%2e/%2e%2e/b/api',
    '/x%2f..%2f..%2fb',
    '/api\\..\\..\\b',
    'api/v1',
    '?watch=true',
    '',
    '/api#fragment',
    '/api v1',
    '/api\tv1',
  ])('to %j is not passed on', (location) => {
    for (const name of ['Location', 'location', 'LOCATION']) {
      for (const below of ['/clusters/a', '']) {
        expect(() => locatedWithin([name, location], 307, below)).toThrow(/redirect to somewhere else/);
      }
    }
  });

  it('stays as it is at a host name of the cluster’s own', () => {
    expect(locatedWithin(['Location', '/clusters/b/api?x=1'], 307, '')).toEqual(['Location', '/clusters/b/api?x=1']);
  });

  it.each(['/clusters/a', ''])('never leads out of its cluster, as a client resolves it below %j', (below) => {
    const part = fc.constantFrom(
      '/',
      '//',
      '..',
      '.',
      '\\',
      '%2e',
      '%2f',
      'b',
      'clusters',
      '@',
      ':',
      '?',
      '#',
      'http:',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(part, { maxLength: 12 }).map((parts) => parts.join('')),
          fc.string(),
        ),
        (location) => {
          let kept: string[];
          try {
            kept = locatedWithin(['Location', location], 302, below);
          } catch {
            return;
          }
          const followed = new URL(kept[1] ?? '', `https://gateway.example${below}/api/v1/pods`);
          expect([followed.origin, followed.pathname.startsWith(`${below}/`)]).toEqual([
            'https://gateway.example',
            true,
          ]);
        },
      ),
    );
  });
});

describe('another answer', () => {
  it('loses a location that leads away, and nothing else', () => {
    const raw = [
      'Location',
      'http://thief.example/',
      'Content-Location',
      '//thief.example/',
      'Content-Type',
      'text/plain',
    ];
    expect(locatedWithin(raw, 201, '/clusters/a')).toEqual(['Content-Type', 'text/plain']);
    expect(locatedWithin(['Content-Location', '/api'], 200, '/clusters/a')).toEqual([
      'Content-Location',
      '/clusters/a/api',
    ]);
  });
});
