import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ENROLMENT_PROOF_BYTES,
  enrolmentProofKey,
  formatToken,
  newProvableTokenId,
  parseToken,
  proveEnrolment,
  takesProof,
  verifyEnrolmentProof,
} from './index.js';

const id = 'p-00000000-0000-4000-8000-000000000001';
const token = { id, secret: Uint8Array.from({ length: 32 }, (_, index) => index) };
const request = new Uint8Array(Buffer.from('request'));
const proofKey = enrolmentProofKey(token);
const proof = proveEnrolment(token, request);

describe('a proof of enrolment', () => {
  it('is what another implementation of HKDF and Ed25519 makes of the same token', () => {
    expect(proofKey).toBe('MCowBQYDK2VwAyEAenJBNXPkvWrvVFHEPbl7mh46ZRCr7EzqMBLEo+4a9mw=');
    expect(Buffer.from(proof).toString('hex')).toBe(
      '4508f9f54b38bee6491f710ba0c5d03f815ae1fde795808b59937d1fae728da2' +
        'f0d560338aa673fa0c7ea930553403a52af1ee69adc2f7ca76a9c019deb8fd00',
    );
    expect(proof).toHaveLength(ENROLMENT_PROOF_BYTES);
  });

  it('is good for its token and its request only', () => {
    const bytes = fc.uint8Array({ maxLength: 300 });
    const secrets = fc.uint8Array({ minLength: 32, maxLength: 32 });
    fc.assert(
      fc.property(secrets, bytes, bytes, (secret, csrDer, other) => {
        fc.pre(Buffer.compare(csrDer, other) !== 0);
        const own = { id: newProvableTokenId(), secret };
        const [key, signature] = [enrolmentProofKey(own), proveEnrolment(own, csrDer)];
        expect(verifyEnrolmentProof(key, own.id, csrDer, signature)).toBe(true);
        expect(verifyEnrolmentProof(key, own.id, other, signature)).toBe(false);
        expect(verifyEnrolmentProof(key, newProvableTokenId(), csrDer, signature)).toBe(false);
        expect(verifyEnrolmentProof(enrolmentProofKey({ ...own, id }), own.id, csrDer, signature)).toBe(false);
        expect(verifyEnrolmentProof(proofKey, own.id, csrDer, signature)).toBe(false);
      }),
      { numRuns: 50 },
    );
  });

  it.each([
    ['none', new Uint8Array()],
    ['a short one', proof.slice(1)],
    ['a long one', new Uint8Array([...proof, 0])],
    ['zeros', new Uint8Array(ENROLMENT_PROOF_BYTES)],
    ['another bit', proof.map((byte, index) => (index === 40 ? byte ^ 1 : byte))],
    ['the secret itself', token.secret],
  ])('that is %s is just false', (_, wrong) => {
    expect(verifyEnrolmentProof(proofKey, id, request, wrong)).toBe(false);
  });

  it('is no use with what is stored: neither is the secret in it', () => {
    const stored = Buffer.from(proofKey, 'base64');
    const forged = proveEnrolment({ id, secret: stored.subarray(-32) }, request);
    expect(verifyEnrolmentProof(proofKey, id, request, forged)).toBe(false);
    expect(stored.includes(Buffer.from(token.secret))).toBe(false);
  });
});

it('a token says by its id whether its registration takes proofs', () => {
  const made = { pin: 'ab'.repeat(32), id: newProvableTokenId(), secret: token.secret };
  expect(takesProof(parseToken(formatToken(made)).id)).toBe(true);
  for (const older of [crypto.randomUUID(), 'token-1', '', 'P-1', 'p']) expect(takesProof(older)).toBe(false);
});
