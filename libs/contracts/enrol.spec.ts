import { describe, expect, it } from 'vitest';
import { Enrol } from './index.js';

const bytes = (count: number): string => Buffer.alloc(count, 1).toString('base64');
const facts = { agentVersion: '0.1.0', kubernetesVersion: 'v1.34.4', platform: 'linux/amd64' };
const rest = { csr: bytes(300), facts, remoteAddress: '127.0.0.1' };
const accepts = (shown: object): boolean => Enrol.safeParse({ ...rest, ...shown }).success;

describe('what a gateway passes on of an enrolment', () => {
  it.each([
    ['the secret of a token', { tokenId: 't', secret: bytes(32) }],
    ['a proof', { tokenId: 't', proof: bytes(64) }],
    ['no token', { tokenId: null, secret: '' }],
  ])('is %s', (_, shown) => {
    expect(accepts(shown)).toBe(true);
  });

  it.each(['', 'a b', 'a\0', 'a\n', 'ä', '../a', 'a'.repeat(65), 'a\u202e'])('names no token %j', (tokenId) => {
    expect(accepts({ tokenId, secret: bytes(32) })).toBe(false);
  });

  it.each(['p-0f5c', 'A'.repeat(64)])('names the token %j', (tokenId) => {
    expect(accepts({ tokenId, secret: bytes(32) })).toBe(true);
  });

  it.each([
    ['both', { tokenId: 't', secret: bytes(32), proof: bytes(64) }],
    ['an empty secret beside a proof', { tokenId: 't', secret: '', proof: bytes(64) }],
    ['neither', { tokenId: 't' }],
    ['a long secret', { tokenId: 't', secret: bytes(67) }],
    ['a short proof', { tokenId: 't', proof: bytes(60) }],
    ['a long proof', { tokenId: 't', proof: bytes(67) }],
    ['a proof of no token', { tokenId: null, proof: bytes(64) }],
  ])('is never %s', (_, shown) => {
    expect(accepts(shown)).toBe(false);
  });
});
