/**
 * The control plane and a demo cluster as real child processes, on this machine alone: for `npm start`, e2e and bench.
 */
export { startStack } from './start-stack.js';
export { prepareCredentials, type PrepareOptions, type PreparedCredentials } from './prepare-credentials.js';
export type {
  AgentOptions,
  CliOptions,
  Demo,
  DemoGitOps,
  DemoLogin,
  GatewayAddresses,
  KubectlOptions,
  Stack,
  StackOptions,
} from './stack.js';
export { PortInUseError, StackError } from './errors.js';
export { describeExit, type Exit, type StackEvent, type StackLog } from './events.js';
export type { StackProcess } from './process/supervised-process.js';
export type { CommandOutput } from './process/run-command.js';
export { DEFAULT_BASE_PORT, planPorts, type PortPlan } from './state/port-plan.js';
export { ALLOCATOR, allocatorEnvironment } from './process/allocator.js';
export { NODE_ENVIRONMENT, NODE_FLAGS } from './process/node-flags.js';
export { EXIT_WITH_PARENT } from './process/node-unit.js';
export { REPOSITORY, entryOf } from './state/repository.js';
export { podImages, type PodImagesOptions } from './gitops/pod-images.js';
