export { eventually, type EventuallyOptions } from './eventually.js';
export { scratchDir, type ScratchDir } from './scratch-dir.js';
export {
  testAuthority,
  type TestAuthority,
  type TestAuthorityOptions,
  type TestCertificate,
  type TestCertificateOptions,
} from './test-authority.js';
