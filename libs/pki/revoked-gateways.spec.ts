import { expect, it } from 'vitest';
import { MAX_FENCED_GATEWAYS, isRevokedGateway, tellsAll, type PeerCertificate } from './index.js';
import { readRevoked } from './revoked-gateways.js';

const through = 1_795_000_000;

const shown = (notBefore: number, change: Partial<PeerCertificate> = {}): PeerCertificate => ({
  id: { kind: 'gateway', name: 'gateway-a', trustDomain: 'fairlead.test' },
  generation: 0,
  trustVersion: 0,
  serial: '0a',
  notBefore: new Date(notBefore * 1_000),
  notAfter: new Date((notBefore + 86_400) * 1_000),
  spkiSha256: '',
  ...change,
});

it('revokes what a fenced gateway had, whether it has ended or not, and neither its next certificate nor anybody else’s', () => {
  const revoked = { fencedGateways: [{ name: 'gateway-a', through }] };
  for (const second of [through - 30 * 86_400, through]) expect(isRevokedGateway(shown(second), revoked)).toBe(true);
  expect(isRevokedGateway(shown(through + 1), revoked)).toBe(false);
  const trustDomain = 'fairlead.test';
  for (const id of [
    { kind: 'gateway', name: 'gateway-b', trustDomain },
    { kind: 'service', name: 'gateway-a', trustDomain },
  ] as const) {
    expect(isRevokedGateway(shown(through, { id }), revoked)).toBe(false);
  }
});

it('revokes single certificates by their serial numbers', () => {
  expect(isRevokedGateway(shown(through), { revokedGateways: ['0b', '0a'] })).toBe(true);
  expect(isRevokedGateway(shown(through), { revokedGateways: ['0b'] })).toBe(false);
  expect(isRevokedGateway(shown(through), {})).toBe(false);
});

it('is told by a bundle that names each number, and each gateway through the same second or a later one', () => {
  const fence = { name: 'gateway-a', through };
  const told = { revokedGateways: ['0a', '0b'], fencedGateways: [fence] };
  expect(tellsAll(told, { revokedGateways: ['0b'], fencedGateways: [{ ...fence, through: through - 1 }] })).toBe(true);
  expect(tellsAll({}, {})).toBe(true);
  for (const missing of [
    { revokedGateways: ['0c'] },
    { fencedGateways: [{ ...fence, through: through + 1 }] },
    { fencedGateways: [{ ...fence, name: 'gateway-b' }] },
  ]) {
    expect(tellsAll(told, missing)).toBe(false);
  }
});

it.each([
  { fencedGateways: {} },
  { fencedGateways: [null] },
  { fencedGateways: [{ name: 'Gateway', through }] },
  { fencedGateways: [{ name: 'gateway-a', through: -1 }] },
  { fencedGateways: [{ name: 'gateway-a', through: 1.5 }] },
  { fencedGateways: [{ name: 'gateway-a' }] },
  { fencedGateways: Array.from({ length: MAX_FENCED_GATEWAYS + 1 }, () => ({ name: 'gateway-a', through })) },
])('is refused as %j', (revoked) => {
  expect(() => readRevoked(revoked)).toThrow(/revoked gateway/);
});
