import { beforeAll, describe, expect, it } from 'vitest';
import { createIssuing, createRoot, crossSign, type Authority } from './authority.js';
import { checkCsr, createCsr } from './csr.js';
import { issueIdentity } from './issue-certificate.js';
import { withoutRoot, rootOf } from './pem.js';
import { generatePrivateKey } from './private-key.js';

const window = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };

let old: Authority;
let next: Authority;
let foreign: Authority;
/** Of the old root; of the next one, with the old one's certificate for it. */
let oldChain: string[];
let nextChain: string[];

async function chainOf(root: Authority, cross: readonly string[] = []): Promise<string[]> {
  const issuing = await createIssuing(root, { commonName: 'issuing', ...window });
  const csr = await checkCsr(await createCsr(await generatePrivateKey()));
  const id = { kind: 'gateway', trustDomain: 'fairlead.local', name: 'gateway-a' } as const;
  const { certificatePem } = await issueIdentity(issuing, { csr, id, ...window });
  return [certificatePem, issuing.certificatePem, ...cross, root.certificatePem];
}

beforeAll(async () => {
  // All of one name, as two roots of an installation are.
  const named = { commonName: 'the root', ...window };
  [old, next, foreign] = await Promise.all([createRoot(named), createRoot(named), createRoot(named)]);
  oldChain = await chainOf(old);
  nextChain = await chainOf(next, [await crossSign(old, next.certificatePem, window)]);
});

describe('the root of a chain', () => {
  it('is the nearest that is among the roots, whatever their order and their names', () => {
    const [first, second] = [old.certificatePem, next.certificatePem];
    for (const roots of [
      [first, second],
      [second, first],
    ]) {
      expect(rootOf(oldChain, roots)).toBe(first);
      expect(rootOf(nextChain, roots)).toBe(second);
    }
  });

  it('is the old one, by its certificate for the next, for who knows no other', () => {
    expect(rootOf(nextChain, [old.certificatePem])).toBe(old.certificatePem);
    expect(rootOf(oldChain, [next.certificatePem])).toBeNull();
    expect(rootOf(nextChain, [foreign.certificatePem])).toBeNull();
  });
});

it('a chain as it is shown loses its root, and not the root’s certificate by another', () => {
  expect(withoutRoot(nextChain)).toEqual(nextChain.slice(0, 3));
  expect(withoutRoot(oldChain)).toEqual(oldChain.slice(0, 2));
});
