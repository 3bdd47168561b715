export { inboxPrefix, type Holder } from './connection/inbox.js';
export { createNkey, nkeyFromSeed, readSeedFile, type Nkey } from './connection/nkey.js';
export { connectNats, type ConnectNatsOptions } from './connection/connect-nats.js';
export { connectionState, whileConnected, type ConnectionState } from './connection/connection-state.js';
export { MAX_RPC_BYTES, createRpcClient, type CallOptions, type RpcClient } from './rpc/rpc-client.js';
export { RpcHandler, type RpcResult } from './rpc/rpc-handler.js';
export type { RpcRequest } from './rpc/rpc-request.js';
export { serveReplicaRpc, type ReplicaRpcOptions } from './rpc/serve-replica-rpc.js';
export { RpcServer, serveRpc, type RpcServerOptions } from './rpc/rpc-server.js';
export { HeardReplicas } from './kv/heard-replicas.js';
export { watchBucket, type KvSnapshot, type WatchBucketOptions } from './kv/watch-bucket.js';
export { deleteKv, putKv } from './kv/put-kv.js';
export { StreamConsumer, type ConsumedMessage, type StreamConsumerOptions } from './consumer/stream-consumer.js';
export { STREAMS_API } from './kv/bucket-feed.js';
export {
  SUBSCRIBERS_ACCOUNT,
  subscriberConsumer,
  subscriberInboxPrefix,
  subscriberOfConsumer,
} from './subscribers/subscriber-rights.js';
export { calloutIssuer } from './subscribers/callout-issuer.js';
export { serveAdmission, type AdmissionOptions } from './subscribers/serve-admission.js';
export { SubscriberConsumers, type ConsumerSpec } from './subscribers/subscriber-consumers.js';
export {
  cutConnection,
  subscriberConnections,
  type SubscriberConnection,
} from './subscribers/subscriber-connections.js';
export { natsAuthorization, natsUser, type NatsUser } from './server/nats-authorization.js';
export { AUDIT_STREAM, EVENT_STREAM, provisionJetStream, type ProvisionOptions } from './server/provision-jetstream.js';
