import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatSpiffeId, parseSpiffeId, type SpiffeId } from './index.js';

const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
const trustDomain = fc.stringMatching(/^[a-z0-9._-]{1,255}$/);
const ids: fc.Arbitrary<SpiffeId> = fc.oneof(
  fc.record({ kind: fc.constant('agent' as const), trustDomain, clusterId: fc.uuid() }),
  fc.record({
    kind: fc.constantFrom('gateway' as const, 'service' as const, 'client' as const),
    trustDomain,
    name: label,
  }),
);
const clusterId = '7b0c6f4e-2f5a-4c7e-9a57-8f1f4b1c2d3e';

describe('SPIFFE ids', () => {
  it('round-trip', () => {
    fc.assert(
      fc.property(ids, (id) => {
        expect(parseSpiffeId(formatSpiffeId(id))).toEqual(id);
      }),
    );
  });

  it('have one spelling each: whatever parses is written back identically', () => {
    const nearly = fc.tuple(ids, fc.nat(), fc.string({ maxLength: 2 })).map(([id, at, extra]) => {
      const uri = formatSpiffeId(id);
      const index = at % (uri.length + 1);
      return uri.slice(0, index) + extra + uri.slice(index);
    });
    fc.assert(
      fc.property(fc.oneof(nearly, fc.string()), (uri) => {
        const id = parseSpiffeId(uri);
        expect(id === null ? uri : formatSpiffeId(id)).toBe(uri);
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    '',
    'spiffe://',
    'spiffe://td',
    'spiffe://td/',
    `spiffe:///cluster/${clusterId}/agent`,
    `https://td/cluster/${clusterId}/agent`,
    `SPIFFE://td/cluster/${clusterId}/agent`,
    `spiffe://TD/cluster/${clusterId}/agent`,
    `spiffe://td:443/cluster/${clusterId}/agent`,
    `spiffe://user@td/cluster/${clusterId}/agent`,
    `spiffe://td/cluster/${clusterId.toUpperCase()}/agent`,
    `spiffe://td/cluster/${clusterId}`,
    `spiffe://td/cluster/${clusterId}/agent/`,
    `spiffe://td/cluster/${clusterId}/agent?x`,
    `spiffe://td/cluster/${clusterId}/agent#x`,
    `spiffe://td/cluster/${clusterId}/agent\n`,
    `spiffe://td\n/cluster/${clusterId}/agent`,
    `spiffe://td/cluster/${clusterId}/admin`,
    `spiffe://td//cluster/${clusterId}/agent`,
    `spiffe://td/cluster/../gateway/a`,
    'spiffe://td/gateway/',
    'spiffe://td/gateway/A',
    'spiffe://td/gateway/a.b',
    'spiffe://td/gateway/a%2fb',
    'spiffe://td/gateway/a/agent',
    'spiffe://td/user/alice',
    'spiffe://td/client/',
    'spiffe://td/client/a/agent',
    `spiffe://${'a'.repeat(256)}/gateway/a`,
    `spiffe://td/gateway/${'a'.repeat(64)}`,
  ])('refuses %j', (uri) => expect(parseSpiffeId(uri)).toBeNull());

  it.each<SpiffeId>([
    { kind: 'gateway', trustDomain: 'td', name: '../cluster' },
    { kind: 'gateway', trustDomain: 'td/cluster', name: 'a' },
    { kind: 'agent', trustDomain: 'td', clusterId: 'x/agent' },
  ])('does not write what it cannot read: %j', (id) => {
    expect(() => formatSpiffeId(id)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });
});
