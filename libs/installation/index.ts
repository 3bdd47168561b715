export { TestGitops, reportOf } from './test-gitops.js';
export { startInstallation, type Replica, type RunningAgent, type TestInstallation } from './replicas.js';
