/** Prometheus's own checker of rules. Its module's version 0.316.0 is the release 3.16.0. */
export const PROMTOOL = {
  name: 'promtool',
  version: '3.16.0',
  oldest: '3.5.0',
  versionArgs: ['--version'],
  env: 'FAIRLEAD_TESTBED_PROMTOOL',
  go: {
    dir: 'prometheus',
    package: 'github.com/prometheus/prometheus/cmd/promtool',
    // What finds targets in clouds, and is most of it.
    tags: ['remove_all_sd'],
    set: { 'github.com/prometheus/common/version.Version': '3.16.0' },
    oldestGo: '1.26.7',
    about: 'about 4 min',
  },
  release: {
    url: 'https://github.com/prometheus/prometheus/releases/download/v{version}/prometheus-{version}.{os}-{arch}.tar.gz',
    sumsUrl: 'https://github.com/prometheus/prometheus/releases/download/v{version}/sha256sums.txt',
    pinned: {},
    member: 'prometheus-{version}.{os}-{arch}/promtool',
    platforms: ['linux-amd64', 'linux-arm64', 'darwin-amd64', 'darwin-arm64'],
  },
} as const;
