/**
 * Real components for development, tests and benchmarks: the same interface whether a component comes from an address in the
 * environment, from Docker, from this machine, from a verified download or from a build. See README.md.
 */
export { TestbedError } from './errors.js';
export { type Log } from './log.js';
export { findBinary, type Binary } from './binaries/find-binary.js';
export { type BinaryName } from './binaries/catalog.js';
export { startNats, type NatsInfo, type NatsOptions } from './components/nats.js';
export { startPostgres, type PostgresInfo, type PostgresOptions } from './components/postgres.js';
export { startKubernetes, type KubeInfo, type KubeOptions } from './components/kubernetes.js';
export { type Running } from './components/running.js';
export { freePort } from './process/ports.js';
