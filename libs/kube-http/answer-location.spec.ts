import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { locatedWithin } from './answer-location.js';

describe('a redirect of a cluster', () => {
  it.each([301, 302, 303, 307, 308])('stays below the cluster (%i)', (status) => {
    const raw = ['Warning', '299 - "x"', 'Location', '/api/v1/namespaces?limit=1'];
    expect(locatedWithin(raw, status, 'a')).toEqual([...raw.slice(0, 3), '/clusters/a/api/v1/namespaces?limit=1']);
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
      expect(() => locatedWithin([name, location], 307, 'a')).toThrow(/redirect to somewhere else/);
    }
  });

  it('never leads out of its cluster, whatever it says, as a client resolves it', () => {
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
            kept = locatedWithin(['Location', location], 302, 'a');
          } catch {
            return;
          }
          const followed = new URL(kept[1] ?? '', 'https://gateway.example/clusters/a/api/v1/pods');
          expect([followed.origin, followed.pathname.startsWith('/clusters/a/')]).toEqual([
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
    expect(locatedWithin(raw, 201, 'a')).toEqual(['Content-Type', 'text/plain']);
    expect(locatedWithin(['Content-Location', '/api'], 200, 'a')).toEqual(['Content-Location', '/clusters/a/api']);
  });
});
