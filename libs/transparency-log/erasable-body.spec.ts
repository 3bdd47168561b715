import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { commitToBody, isCommittedBody, newNonce } from './erasable-body.js';

it('a body is known by its nonce, and by no other', () => {
  const [nonce, body] = [newNonce(), Buffer.from('kubectl get secrets')];
  const commitment = commitToBody(nonce, body);
  expect(Buffer.from(commitment)).toEqual(createHash('sha256').update(nonce).update(body).digest());
  expect(isCommittedBody(commitment, nonce, body)).toBe(true);
  expect(isCommittedBody(commitment, newNonce(), body)).toBe(false);
  expect(isCommittedBody(commitment, nonce, Buffer.from('kubectl get pods'))).toBe(false);
});

it('a nonce that is too short to hide anything is refused', () => {
  expect(() => commitToBody(new Uint8Array(0), Buffer.from('body'))).toThrow(RangeError);
  expect(isCommittedBody(Buffer.alloc(32), Buffer.alloc(16), Buffer.from('body'))).toBe(false);
});
