export * from './primitives.js';
export * from './rpc.js';
export * from './approval.js';
export * from './bootstrap-token.js';
export * from './registration.js';
export * from './static-identity.js';
export * from './keys.js';
export * from './kv.js';
