/** What a cluster's agent needs that runs outside its pod: for `apps/demo`, which has no more of the stack. */
export { administrator, type Administrator } from '../access/administrator.js';
export { runCommand } from '../process/run-command.js';
export { joinCluster } from './join-cluster.js';
export { keepTokenFresh, materialiseSandbox, type SandboxOptions } from './pod-sandbox.js';
