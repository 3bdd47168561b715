import { COREDNS } from './coredns.js';
import { DOCKER_COMPOSE } from './docker-compose.js';
import { kubernetesVersion } from './kubernetes-version.js';
import { OTHER_KUBECTLS, type OtherKubectl } from './other-kubectls.js';
import { PROMTOOL } from './promtool.js';
import { TESSERA_FSCK, TLOG_VERIFY } from './tlog-tools.js';
import { ZITADEL_OIDC } from './zitadel-oidc.js';

/** The programs the testbed runs, at the versions it pins. */
export type BinaryName =
  | 'nats-server'
  | 'etcd'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kubectl'
  | OtherKubectl
  | 'kube-scheduler'
  | 'kubelet'
  | 'kube-proxy'
  | 'coredns'
  | 'agnhost'
  | 'e2e.test'
  | 'pause'
  | 'test-kubelet'
  | 'gitea'
  | 'flux-source-controller'
  | 'flux-kustomize-controller'
  | 'argocd'
  | 'redis-server'
  | 'h2spec'
  | 'vault'
  | 'helm'
  | 'docker-compose'
  | 'promtool'
  | 'client-go-trial'
  | 'zitadel-oidc'
  | 'tessera-fsck'
  | 'tlog-verify';

export interface Component {
  readonly name: BinaryName;
  /** The pinned version, without a leading v. */
  readonly version: string;
  /** The oldest version accepted from PATH, KUBEBUILDER_ASSETS or the environment. */
  readonly oldest: string;
  /** Arguments that make it print its version; absent: only what Go wrote into it says, so that needs Go. */
  readonly versionArgs?: readonly string[];
  /** The variable that names a binary to use. */
  readonly env: string;
  /** A part of the real node: it runs on Linux alone, and nothing below `test:full` needs it. */
  readonly ofRealNode?: true;
  readonly go: GoModule;
  /** Absent: there is none, and only a build makes it. */
  readonly release?: Release;
}

export interface GoModule {
  /** Folder under `go/` with the pinned go.mod and go.sum. */
  readonly dir: string;
  readonly package: string;
  /** The program itself, and not only what pins it, is in `dir`: its files decide what is built. */
  readonly ownSource?: true;
  /** It is the package's tests that are built, and not the package. */
  readonly tests?: true;
  /** It is partly in C: the build needs a C compiler. */
  readonly cgo?: true;
  readonly tags?: readonly string[];
  /** Folders of the package's module that the program reads at run time; they are kept beside it. */
  readonly assets?: readonly string[];
  /** Linker settings `-X path=value`, for what upstream's release build sets. */
  readonly set: Readonly<Record<string, string>>;
  readonly oldestGo: string;
  /** A cold build on two cores, for the one who waits. */
  readonly about: string;
}

/** An official release; `{version}`, `{os}` and `{arch}` are filled in. */
export interface Release {
  readonly url: string;
  /** The release's own list of SHA-256 sums (or the one sum), fetched over TLS for platforms without a pinned sum. */
  readonly sumsUrl: string;
  /** SHA-256 of the file at `url` by `<os>-<arch>`, where known. */
  readonly pinned: Readonly<Record<string, string>>;
  /** The binary's path in the archive; absent: the file is the binary. */
  readonly member?: string;
  /** Platforms there is a release in this form for. */
  readonly platforms: readonly string[];
}

const KUBERNETES = '1.34.4';
const HELM = '3.18.4';
const NODE_PROGRAMS = ['kube-scheduler', 'kubelet', 'kube-proxy'] as const;
const LINUX = ['linux-amd64', 'linux-arm64'];
const LINUX_AND_MAC = [...LINUX, 'darwin-amd64', 'darwin-arm64'];

function kubernetes(
  name: 'kube-apiserver' | 'kube-controller-manager' | 'kubectl' | (typeof NODE_PROGRAMS)[number],
  platforms: readonly string[],
): Pick<Component, 'version' | 'go'> & { readonly release: Release } {
  const url = `https://dl.k8s.io/release/v{version}/bin/{os}/{arch}/${name}`;
  const go = {
    dir: 'kubernetes',
    package: `k8s.io/kubernetes/cmd/${name}`,
    set: kubernetesVersion(KUBERNETES),
    oldestGo: '1.24',
    about: 'about 4 min',
  };
  return { version: KUBERNETES, go, release: { url, sumsUrl: `${url}.sha256`, pinned: {}, platforms } };
}

/** A program of Kubernetes that only the real node runs: of the very version of its API server. */
function nodeProgram(name: (typeof NODE_PROGRAMS)[number]): Component {
  const env = `FAIRLEAD_TESTBED_${name.toUpperCase().replace('-', '_')}`;
  const built = kubernetes(name, LINUX);
  return { name, oldest: KUBERNETES, versionArgs: ['--version'], env, ofRealNode: true, ...built };
}

/** A controller of Flux; upstream releases it as an image only. */
function fluxController(
  name: 'source-controller' | 'kustomize-controller',
  version: string,
  oldestGo: string,
): Component {
  return {
    name: `flux-${name}`,
    version,
    oldest: version,
    env: `FAIRLEAD_TESTBED_FLUX_${name.toUpperCase().replace('-', '_')}`,
    go: { dir: `flux-${name}`, package: `github.com/fluxcd/${name}`, set: {}, oldestGo, about: 'about 6 min' },
  };
}

export const COMPONENTS: Readonly<Record<BinaryName, Component>> = {
  'nats-server': {
    name: 'nats-server',
    version: '2.12.3',
    // Per-key TTL in KV, which leases need.
    oldest: '2.11.0',
    versionArgs: ['--version'],
    env: 'FAIRLEAD_TESTBED_NATS_SERVER',
    go: { dir: 'nats', package: 'github.com/nats-io/nats-server/v2', set: {}, oldestGo: '1.24', about: 'about 30 s' },
    release: {
      url: 'https://github.com/nats-io/nats-server/releases/download/v{version}/nats-server-v{version}-{os}-{arch}.tar.gz',
      sumsUrl: 'https://github.com/nats-io/nats-server/releases/download/v{version}/SHA256SUMS',
      pinned: {},
      member: 'nats-server-v{version}-{os}-{arch}/nats-server',
      platforms: LINUX_AND_MAC,
    },
  },
  etcd: {
    name: 'etcd',
    version: '3.6.6',
    oldest: '3.5.0',
    versionArgs: ['--version'],
    env: 'FAIRLEAD_TESTBED_ETCD',
    go: { dir: 'etcd', package: 'go.etcd.io/etcd/server/v3', set: {}, oldestGo: '1.24', about: 'about 30 s' },
    release: {
      url: 'https://github.com/etcd-io/etcd/releases/download/v{version}/etcd-v{version}-{os}-{arch}.tar.gz',
      sumsUrl: 'https://github.com/etcd-io/etcd/releases/download/v{version}/SHA256SUMS',
      pinned: {},
      member: 'etcd-v{version}-{os}-{arch}/etcd',
      // etcd's releases for macOS are zip files; there Go builds it.
      platforms: LINUX,
    },
  },
  'kube-apiserver': {
    name: 'kube-apiserver',
    oldest: '1.28.0',
    versionArgs: ['--version'],
    env: 'FAIRLEAD_TESTBED_KUBE_APISERVER',
    ...kubernetes('kube-apiserver', LINUX),
  },
  'kube-controller-manager': {
    name: 'kube-controller-manager',
    oldest: '1.28.0',
    versionArgs: ['--version'],
    env: 'FAIRLEAD_TESTBED_KUBE_CONTROLLER_MANAGER',
    ...kubernetes('kube-controller-manager', LINUX),
  },
  kubectl: {
    name: 'kubectl',
    // Older ones lack what the tests rely on in exec plugins and WebSocket streaming; Debian's is far older still.
    oldest: '1.34.0',
    versionArgs: ['version', '--client'],
    env: 'FAIRLEAD_TESTBED_KUBECTL',
    ...kubernetes('kubectl', LINUX_AND_MAC),
  },
  ...OTHER_KUBECTLS,
  'kube-scheduler': nodeProgram('kube-scheduler'),
  kubelet: nodeProgram('kubelet'),
  'kube-proxy': nodeProgram('kube-proxy'),
  coredns: COREDNS,
  // Upstream's server of many uses for tests, which is in the module of Kubernetes.
  agnhost: {
    name: 'agnhost',
    version: '2.56.0',
    oldest: '2.56.0',
    versionArgs: ['--version'],
    env: 'FAIRLEAD_TESTBED_AGNHOST',
    ofRealNode: true,
    go: {
      dir: 'kubernetes',
      package: 'k8s.io/kubernetes/test/images/agnhost',
      set: { 'main.Version': '2.56.0' },
      oldestGo: '1.24',
      about: 'about 1 min',
    },
  },
  // Upstream's own tests of a cluster, in a module of their own: they import far more than what they test.
  'e2e.test': {
    name: 'e2e.test',
    version: KUBERNETES,
    oldest: KUBERNETES,
    versionArgs: ['--version'],
    env: 'FAIRLEAD_TESTBED_E2E_TEST',
    ofRealNode: true,
    go: {
      dir: 'kubernetes-e2e',
      package: 'k8s.io/kubernetes/test/e2e',
      tests: true,
      set: kubernetesVersion(KUBERNETES),
      oldestGo: '1.24',
      about: 'about 3 min',
    },
  },
  pause: {
    name: 'pause',
    version: '1.0.0',
    oldest: '1.0.0',
    versionArgs: ['--version'],
    env: 'FAIRLEAD_TESTBED_PAUSE',
    ofRealNode: true,
    go: {
      dir: 'pause',
      package: 'fairlead.dev/testbed/pause',
      ownSource: true,
      set: { 'main.version': '1.0.0' },
      oldestGo: '1.24',
      about: 'some seconds',
    },
  },
  'test-kubelet': {
    name: 'test-kubelet',
    version: KUBERNETES,
    oldest: KUBERNETES,
    versionArgs: ['--version'],
    env: 'FAIRLEAD_TESTBED_TEST_KUBELET',
    go: {
      dir: 'kubelet',
      package: 'fairlead.dev/testbed/kubelet',
      ownSource: true,
      set: { 'main.version': KUBERNETES },
      oldestGo: '1.24',
      about: 'about 2 min',
    },
  },
  gitea: {
    name: 'gitea',
    version: '1.26.0',
    // Tokens with scopes per category, and deploy keys as they are today.
    oldest: '1.22.0',
    versionArgs: ['--version'],
    env: 'FAIRLEAD_TESTBED_GITEA',
    go: {
      dir: 'gitea',
      package: 'code.gitea.io/gitea',
      // SQLite is in C.
      cgo: true,
      tags: ['sqlite', 'sqlite_unlock_notify'],
      assets: ['options', 'public', 'templates'],
      set: { 'main.Version': '1.26.0' },
      oldestGo: '1.26.2',
      about: 'about 8 min',
    },
    release: {
      url: 'https://dl.gitea.com/gitea/{version}/gitea-{version}-{os}-{arch}',
      sumsUrl: 'https://dl.gitea.com/gitea/{version}/gitea-{version}-{os}-{arch}.sha256',
      pinned: {},
      platforms: LINUX,
    },
  },
  // The newest whose modules a proxy serves.
  'flux-source-controller': fluxController('source-controller', '1.3.0', '1.24'),
  'flux-kustomize-controller': fluxController('kustomize-controller', '1.9.5', '1.26'),
  argocd: {
    name: 'argocd',
    version: '3.1.16',
    oldest: '3.1.16',
    env: 'FAIRLEAD_TESTBED_ARGOCD',
    go: {
      dir: 'argocd',
      package: 'github.com/argoproj/argo-cd/v3/cmd',
      set: { 'github.com/argoproj/argo-cd/v3/common.version': '3.1.16' },
      oldestGo: '1.24.6',
      about: 'about 8 min',
    },
  },
  // Redis, or what is built where there is none: a server of ours on miniredis.
  'redis-server': {
    name: 'redis-server',
    version: '2.35.0',
    oldest: '6.2.0',
    versionArgs: ['--version'],
    env: 'FAIRLEAD_TESTBED_REDIS_SERVER',
    go: {
      dir: 'redis',
      package: 'fairlead.dev/testbed/redis',
      ownSource: true,
      set: { 'main.version': '2.35.0' },
      oldestGo: '1.24',
      about: 'some seconds',
    },
  },
  h2spec: {
    name: 'h2spec',
    version: '2.2.1',
    oldest: '2.2.1',
    versionArgs: ['--version'],
    env: 'FAIRLEAD_TESTBED_H2SPEC',
    go: {
      dir: 'h2spec',
      package: 'github.com/summerwind/h2spec/cmd/h2spec',
      set: { 'main.VERSION': '2.2.1' },
      oldestGo: '1.24',
      about: 'some seconds',
    },
  },
  // Vault's core and transit engine in a program of ours: upstream's own cannot be built from the modules that are published.
  vault: {
    name: 'vault',
    version: '1.21.0',
    oldest: '1.21.0',
    versionArgs: ['-version'],
    env: 'FAIRLEAD_TESTBED_VAULT',
    go: {
      dir: 'vault',
      package: 'fairlead.dev/testbed/vault',
      ownSource: true,
      set: { 'main.version': '1.21.0' },
      oldestGo: '1.25.3',
      about: 'about 4 min',
    },
  },
  helm: {
    name: 'helm',
    version: HELM,
    oldest: HELM,
    versionArgs: ['version', '--short'],
    env: 'FAIRLEAD_TESTBED_HELM',
    go: {
      dir: 'helm',
      package: 'helm.sh/helm/v3/cmd/helm',
      set: { 'helm.sh/helm/v3/internal/version.version': `v${HELM}` },
      oldestGo: '1.24',
      about: 'about 2 min',
    },
  },
  'zitadel-oidc': ZITADEL_OIDC,
  'docker-compose': DOCKER_COMPOSE,
  promtool: PROMTOOL,
  'tessera-fsck': TESSERA_FSCK,
  'tlog-verify': TLOG_VERIFY,
  'client-go-trial': {
    name: 'client-go-trial',
    version: KUBERNETES,
    oldest: KUBERNETES,
    versionArgs: ['version'],
    env: 'FAIRLEAD_TESTBED_CLIENT_GO_TRIAL',
    go: {
      dir: 'client-go-trial',
      package: 'fairlead.dev/testbed/client-go-trial',
      ownSource: true,
      set: { 'main.version': KUBERNETES },
      oldestGo: '1.24',
      about: 'about 1 min',
    },
  },
};
