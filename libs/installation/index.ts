export { startInstallation, type Replica, type RunningAgent, type TestInstallation } from './replicas.js';
