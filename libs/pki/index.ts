export { sha256Hex } from './pem.js';
export { formatSpiffeId, isTrustDomain, parseSpiffeId, type SpiffeId } from './spiffe-id.js';
export { formatToken, parseToken, type BootstrapToken } from './bootstrap-token.js';
export {
  ENROLMENT_PROOF_BYTES,
  enrolmentProofKey,
  newProvableTokenId,
  proveEnrolment,
  takesProof,
  verifyEnrolmentProof,
} from './enrolment-proof.js';
export { splitPem, spkiPin, withoutRoot } from './pem.js';
export { rootOf } from './pem.js';
export { generatePrivateKey, isPairOf, signProof, spkiPinOfKey, verifyProof } from './private-key.js';
export { MAX_CSR_BYTES, checkCsr, createCsr, type CheckedCsr } from './csr.js';
export {
  createIssuing,
  createIssuingCsr,
  createRoot,
  crossSign,
  type Authority,
  type AuthorityOptions,
} from './authority.js';
export { readCaCertificate, type CaCertificate } from './ca-certificate.js';
export {
  issueIdentity,
  issueServing,
  type IdentityOptions,
  type IssuedCertificate,
  type ServingOptions,
} from './issue-certificate.js';
export { isOutOfDate, readPeerCertificate, type PeerCertificate } from './peer-certificate.js';
export { verifyChain, verifyPath, type VerifiedPath, type VerifyOptions } from './verify-chain.js';
export {
  isSignedBy,
  openSigner,
  openStatement,
  signStatement,
  type SignedStatement,
  type StatementSigner,
  type StatementTrust,
  type TrustSigner,
  type VerifiedSigner,
} from './signed-statement.js';
export {
  MAX_FENCED_GATEWAYS,
  MAX_REVOKED_GATEWAYS,
  isRevokedGateway,
  secondOf,
  tellsAll,
  type FencedGateway,
  type RevokedGateways,
} from './revoked-gateways.js';
export {
  MAX_ENDPOINTS,
  MAX_ENDPOINT_BYTES,
  MAX_WEIGHT,
  isEndpointAddress,
  isRegion,
  isServerName,
  writeEndpoints,
  type LinkEndpoint,
  type NamedEndpoints,
} from './link-endpoints.js';
export { openTrust, readTrust, signTrust, type SignedTrust, type TrustedRoots } from './signed-trust.js';
export { highestToSign, highestVersion } from './signed-trust.js';
export { explainTlsFailure, isLoopback, readCaFile, requireLoopback, type ServerTrust } from './server-trust.js';
