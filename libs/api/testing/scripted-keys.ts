import { keysRpc, type CertificateRecord } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { checkCsr, issueServing } from '@fairlead/pki';
import { testTrustBundle } from '@fairlead/testing';
import { Controller } from '@nestjs/common';
import { Script } from './script.js';

type K = typeof keysRpc;

@Controller()
export class KeysScript {
  constructor(private readonly script: Script) {}

  @RpcHandler(keysRpc.trustBundle)
  async trustBundle(_request: RpcRequest<K['trustBundle']>): RpcResult<K['trustBundle']> {
    return testTrustBundle(this.script.authority);
  }

  @RpcHandler(keysRpc.signServing)
  async signServing({ input }: RpcRequest<K['signServing']>): RpcResult<K['signServing']> {
    const { issuing, root, roots } = this.script.authority;
    const csr = await checkCsr(Buffer.from(input.csr, 'base64'));
    const notBefore = new Date(Date.now() - 60_000);
    const notAfter = new Date(Date.now() + this.script.certificateMs);
    const issued = await issueServing(issuing, { csr, names: input.names, notBefore, notAfter });
    return {
      chain: [issued.certificatePem, issuing.certificatePem, root.certificatePem],
      roots: [...roots],
      serial: issued.serial,
      notAfter: notAfter.toISOString(),
    };
  }

  @RpcHandler(keysRpc.listCertificates)
  async listCertificates({ input }: RpcRequest<K['listCertificates']>): RpcResult<K['listCertificates']> {
    const all = [...this.script.certificates.values()];
    const from = 1 + all.findIndex(({ serial }) => serial === input.after);
    const certificates = all.slice(from, from + this.script.certificatesListed);
    const next = certificates.at(-1)?.serial;
    return { certificates, ...(next && from + certificates.length < all.length ? { next } : {}) };
  }

  @RpcHandler(keysRpc.revokeCertificate)
  async revokeCertificate({ input }: RpcRequest<K['revokeCertificate']>): RpcResult<K['revokeCertificate']> {
    const { serial, reason } = input;
    const known = this.script.certificates.get(serial);
    if (!known) throw new FairleadError('NOT_FOUND', `there is no certificate with the serial number ${serial}`);
    const revoked: CertificateRecord = { ...known, revokedAt: new Date().toISOString(), revokedFor: reason };
    this.script.certificates.set(serial, revoked);
    return revoked;
  }
}
