export { collectCrashes, type Crashes } from './crashes.js';
export { TestGitops, reportOf } from './test-gitops.js';
export { startInstallation, type Replica, type TestInstallation } from './replicas.js';
export type { RunningAgent } from './test-agent.js';
