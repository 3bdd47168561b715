export { endsAtOnce } from './end-at-once.js';
export { eventually, type EventuallyOptions } from './eventually.js';
export { HeadlessBrowser } from './headless-browser.js';
export { runProgram, type RunningProgram } from './running-program.js';
export { scratchDir, type ScratchDir } from './scratch-dir.js';
export {
  testAuthority,
  type TestAuthority,
  type TestAuthorityOptions,
  type TestCertificate,
  type TestCertificateOptions,
} from './test-authority.js';
export { testTrustBundle, type TestTrustBundle } from './test-trust-bundle.js';
export { startOtlpCollector, type OtlpCollector } from './otlp-collector.js';
export type { ReceivedSpan } from './decode-otlp.js';
export { writeServerFiles, type ServerFiles } from './server-files.js';
export {
  decryptConnection,
  readKeyLog,
  startRecordingRelay,
  type DecryptedConnection,
  type KeyLog,
  type RecordedConnection,
  type RecordingRelay,
  type RecordingRelayOptions,
} from './tls-recording/index.js';
export { freeze } from './freeze.js';
export { signalIfThere } from './signal-if-there.js';
