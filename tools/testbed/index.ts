/**
 * Real components for development, tests and benchmarks: the same interface whether a component comes from an address in the
 * environment, from Docker, from this machine, from a verified download or from a build. See README.md.
 */
export { TestbedError } from './errors.js';
export { type Log } from './log.js';
export { findBinary, type Binary } from './binaries/find-binary.js';
export { type BinaryName } from './binaries/catalog.js';
export { startNats } from './components/nats.js';
export { startPostgres } from './components/postgres.js';
export { startKubernetes } from './components/kubernetes.js';
export { startGitea } from './components/gitea.js';
export { startZitadelOidc } from './components/zitadel-oidc.js';
export { startKubelet } from './components/kubelet.js';
export { startControllerManager } from './components/controller-manager.js';
export { podProcesses, type PodProcess } from './components/processes.js';
export {
  clusterParts,
  startCluster,
  type Cluster,
  type ClusterOptions,
  type ClusterParts,
} from './components/cluster.js';
export { ownImage, type OwnImageOptions } from './components/own-image.js';
export { argocdImages } from './argocd/images.js';
export { argocdInstallManifest } from './argocd/install-manifest.js';
export { fluxImages } from './flux/images.js';
export { fluxInstallManifest } from './flux/install-manifest.js';
export { FLUX_VERSION, fluxImage } from './flux/pins.js';
export {
  kubectlOf,
  type Kubectl,
  type KubectlOptions,
  type KubectlOutput,
  type KubectlText,
} from './components/kubectl.js';
export { podManifest, type PodWish } from './components/pod-manifest.js';
export type {
  ControllerManagerInfo,
  ControllerManagerOptions,
  GiteaInfo,
  GiteaOptions,
  ImageProgram,
  Images,
  KubeInfo,
  KubeletInfo,
  KubeletOptions,
  KubeOptions,
  NatsInfo,
  NatsOptions,
  OidcUser,
  PostgresInfo,
  PostgresOptions,
  Running,
  ServerTls,
  ZitadelOidcInfo,
  ZitadelOidcOptions,
} from './components/contract.js';
export { LONGEST_NODE_MS } from './node/one-node.js';
export { startDockerEngine, type DockerEngine, type DockerEngineOptions } from './engine/docker-engine.js';
export { enforcePolicies, type PolicyEnforcer } from './node/enforce-policies.js';
export { startRealCluster, type RealCluster, type RealClusterOptions } from './node/real-cluster.js';
export type { ImageSpec } from './node/image-archive.js';
export { programImage, upstreamImages } from './node/images.js';
export { NATS_IMAGE, POSTGRES_IMAGE, POSTGRES_USER, filesBelow, serverImages } from './node/server-images.js';
export { freePort } from './process/ports.js';
export { startNetworkNamespace, type NetworkNamespace } from './network/network-namespace.js';
export { WAY_OUT, openWayOut } from './network/way-out.js';
