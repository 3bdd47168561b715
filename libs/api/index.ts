export { startApi, type ApiOptions, type RunningApi } from './start-api.js';
export { ApiSettings } from './feature/settings.js';
export { certificateFiles, type CertificateFilesOptions } from './serving/certificate-files.js';
export { issuedCertificate, type IssuedCertificateOptions } from './serving/issued-certificate.js';
export type { TlsMaterial, TlsSource } from './serving/tls-material.js';
export { openapiDocument } from './contract/openapi.js';
export { ALL_OPERATIONS, operations } from './contract/operations.js';
export type { Operation, OperationAnswer } from './contract/operation.js';
export {
  CertifiedClient,
  ClientList,
  ClusterAccess,
  ClusterList,
  Door,
  ImportLink,
  NewClient,
  NewCluster,
  Problem,
  Readiness,
  Whoami,
} from './contract/schemas.js';
