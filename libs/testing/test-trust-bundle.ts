import { signTrust } from '@fairlead/pki';
import type { TestAuthority } from './test-authority.js';

/** As the keys service answers it, with one root, which certifies what people's tools see as well. */
export interface TestTrustBundle {
  version: number;
  trustDomain: string;
  roots: string[];
  pins: string[];
  servingRoot: string;
  endpoints: [];
  signed: { bundle: string; signerChain: string[]; signature: string };
}

/** The roots of a test authority, signed by its identity `service/keys`. */
export async function testTrustBundle(authority: TestAuthority, version = 1): Promise<TestTrustBundle> {
  const { trustDomain, roots, pins, root } = authority;
  const signer = await authority.service('keys');
  const chainPem = signer.chain.slice(0, -1);
  const signed = await signTrust({ version, trustDomain, rootsPem: roots }, { keyPem: signer.privateKeyPem, chainPem });
  return {
    version,
    trustDomain,
    roots: [...roots],
    pins: [...pins],
    servingRoot: root.certificatePem,
    endpoints: [],
    signed: {
      bundle: Buffer.from(signed.bundle).toString('base64'),
      signerChain: [...signed.signerChainPem],
      signature: Buffer.from(signed.signature).toString('base64'),
    },
  };
}
