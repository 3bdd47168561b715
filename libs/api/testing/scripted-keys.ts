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
    return this.#page(input.after, (purpose) => purpose !== 'gateway');
  }

  @RpcHandler(keysRpc.listGatewayCertificates)
  async listGatewayCertificates({
    input,
  }: RpcRequest<K['listGatewayCertificates']>): RpcResult<K['listGatewayCertificates']> {
    return this.#page(input.after, (purpose) => purpose === 'gateway');
  }

  #page(after: string | undefined, isListed: (purpose: string) => boolean) {
    const all = [...this.script.certificates.values()].filter(({ purpose }) => isListed(purpose));
    const from = 1 + all.findIndex(({ serial }) => serial === after);
    const certificates = all.slice(from, from + this.script.certificatesListed);
    const next = certificates.at(-1)?.serial;
    return { certificates, ...(next && from + certificates.length < all.length ? { next } : {}) };
  }

  /** One at once. */
  @RpcHandler(keysRpc.revokeGateway)
  async revokeGateway({ input }: RpcRequest<K['revokeGateway']>): RpcResult<K['revokeGateway']> {
    const { name, reason } = input;
    const all = [...this.script.certificates.values()];
    const own = all.filter(({ names }) => names[0]?.endsWith(`/gateway/${name}`));
    if (own.length === 0) throw new FairleadError('NOT_FOUND', `there is no certificate of a gateway named ${name}`);
    const [first, ...others] = own.filter(({ revokedAt }) => revokedAt === null);
    if (!first) return { revoked: 0, more: false };
    this.script.certificates.set(first.serial, { ...first, revokedAt: new Date().toISOString(), revokedFor: reason });
    return { revoked: 1, more: others.length > 0 };
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
