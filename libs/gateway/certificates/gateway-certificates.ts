import { X509Certificate } from 'node:crypto';
import { NO_TENANT, keysRpc, type Issued } from '@fairlead/contracts';
import type { RpcClient } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import { createCsr, generatePrivateKey, readPeerCertificate } from '@fairlead/pki';
import type { CertificateSource, TlsIdentity } from '@fairlead/tunnel/gateway';
import { FileCertificate, type CertificateFiles } from './file-certificate.js';
import { RenewingCertificate } from './renewing-certificate.js';

export interface GatewayCertificates {
  /** Who this replica is, to agents and to other replicas. */
  readonly identity: RenewingCertificate;
  /** What kubectl sees; of another root, so that a kubeconfig outlives a rotation of the identities'. */
  readonly serving: CertificateSource;
  /** Trust domain of the identity. */
  readonly trustDomain: string;
  /** Version of the trust bundle that the identity was issued under; 0: not known. */
  readonly trustVersion: number;
}

/** What people see: a certificate of one's own, or one by `keys` for these names. */
export type DoorCertificate = CertificateFiles | { readonly names: readonly string[] };

/** Resolves once both certificates are there; waits for `keys` as long as the signal lets it. INVALID_ARGUMENT for files that cannot be used. */
export async function obtainCertificates(
  rpc: RpcClient,
  door: DoorCertificate,
  logger: Logger,
  signal: AbortSignal,
): Promise<GatewayCertificates> {
  const identity = new RenewingCertificate(
    'identity',
    () => certify((csr) => rpc.call(keysRpc.signGateway, NO_TENANT, { csr })),
    logger,
  );
  const serving =
    'certFile' in door
      ? new FileCertificate(door, logger)
      : new RenewingCertificate(
          'serving',
          () => certify((csr) => rpc.call(keysRpc.signServing, NO_TENANT, { csr, names: [...door.names] })),
          logger,
        );
  const [first] = await Promise.all([identity.start(signal), serving.start(signal)]);
  const { id } = readPeerCertificate(new X509Certificate(first.chainPem[0] ?? '').raw);
  return { identity, serving, trustDomain: id.trustDomain, trustVersion: first.trustVersion ?? 0 };
}

async function certify(sign: (csr: string) => Promise<Issued>): Promise<TlsIdentity> {
  const keyPem = await generatePrivateKey();
  const { chain, roots, trustVersion } = await sign(Buffer.from(await createCsr(keyPem)).toString('base64'));
  const leaf = new X509Certificate(chain[0] ?? '');
  return {
    keyPem,
    chainPem: chain,
    rootsPem: roots,
    trustVersion,
    notBefore: new Date(leaf.validFrom),
    notAfter: new Date(leaf.validTo),
  };
}
