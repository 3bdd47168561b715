export { GrpcMessageReader, encodeGrpcMessage } from './grpc-messages.js';
export { rpcTransport } from './rpc-client.js';
export { createRpcServer, type RpcServer } from './rpc-server.js';
export { SessionCalls, type CallLimits, type HeldBytes } from './session-calls.js';
