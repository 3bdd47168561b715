export { startApi, type ApiOptions } from './start-api.js';
export { ApiSettings } from './feature/settings.js';
export { certificateFiles } from './serving/certificate-files.js';
export { issuedCertificate } from './serving/issued-certificate.js';
export type { TlsMaterial, TlsSource } from './serving/tls-material.js';
export { ALL_OPERATIONS, operations } from './contract/operations.js';
export type { Operation } from './contract/operation.js';
export {
  CertifiedClient,
  ClientList,
  ClusterAccess,
  ClusterList,
  Door,
  ImportLink,
  Problem,
  Whoami,
} from './contract/schemas.js';
