export { decryptConnection, type DecryptedConnection, type RecordedConnection } from './decrypt-connection.js';
export { readKeyLog, type KeyLog } from './key-log.js';
export { startRecordingRelay, type RecordingRelay, type RecordingRelayOptions } from './recording-relay.js';
