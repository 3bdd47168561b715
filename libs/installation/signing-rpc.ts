import { X509Certificate } from 'node:crypto';
import type { Issued, LinkTrouble, Rpc } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { RpcClient } from '@fairlead/messaging';
import { checkCsr, issueIdentity, issueServing, readPeerCertificate } from '@fairlead/pki';
import type { TestAuthority } from '@fairlead/testing';

/** `keys`, and registration's ear for troubles, as far as a replica needs them here; the real service is exercised by its own tests and by e2e. */
export function signingRpc(authority: TestAuthority, name: string, troubles: LinkTrouble[] = []): RpcClient {
  const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
  const sign = async (method: string, input: { csr: string; names?: string[] }): Promise<Issued> => {
    const csr = await checkCsr(Buffer.from(input.csr, 'base64'));
    const { trustDomain, issuing, root } = authority;
    const { certificatePem, serial } =
      method === 'sign-gateway'
        ? await issueIdentity(issuing, { csr, id: { kind: 'gateway', trustDomain, name }, ...validity })
        : await issueServing(issuing, { csr, names: input.names ?? [], ...validity });
    const chain = [certificatePem, issuing.certificatePem, root.certificatePem];
    return { chain, roots: [...authority.roots], serial, notAfter: validity.notAfter.toISOString() };
  };
  return {
    call: (rpc: Rpc, _tenant: string, input: unknown) => {
      if (rpc.method.startsWith('sign-')) return sign(rpc.method, input as { csr: string }) as never;
      if (rpc.method === 'renew-agent') return renewAgent(authority, input as RenewInput) as never;
      if (rpc.method === 'report-troubles') {
        troubles.push(...(input as { troubles: LinkTrouble[] }).troubles);
        return Promise.resolve({}) as never;
      }
      return Promise.reject(new FairleadError('UNAVAILABLE', `${rpc.method} is not part of this test`));
    },
  };
}

interface RenewInput {
  readonly csr: string;
  readonly currentChain: readonly string[];
}

async function renewAgent({ issuing, root, roots }: TestAuthority, input: RenewInput): Promise<Issued> {
  const { id, generation } = readPeerCertificate(new X509Certificate(input.currentChain[0] ?? '').raw);
  const notAfter = new Date(Date.now() + 3_600_000);
  const csr = await checkCsr(Buffer.from(input.csr, 'base64'));
  const issued = await issueIdentity(issuing, {
    csr,
    id,
    generation,
    notBefore: new Date(Date.now() - 60_000),
    notAfter,
  });
  const chain = [issued.certificatePem, issuing.certificatePem, root.certificatePem];
  return { chain, roots: [...roots], serial: issued.serial, notAfter: notAfter.toISOString() };
}
