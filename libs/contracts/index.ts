export * from './primitives.js';
export * from './rpc.js';
export * from './approval.js';
export * from './registration.js';
export * from './ca.js';
export * from './keys.js';
export * from './kv.js';
