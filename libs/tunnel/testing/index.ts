export { startRecordingApiServer, type RecordingApiServer } from './recording-api-server.js';
export { ScriptStream } from './script-stream.js';
export { startBalancer, startConnectProxy } from './tcp-servers.js';
export { readAll, sha256, startTcpTarget, type TcpTarget } from './tcp-targets.js';
export { OPEN, collect, pattern, sessionPair, type SessionPair } from './tunnel-pair.js';
