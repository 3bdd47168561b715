/** The DNS of the real node's cluster, with the plugins that it needs alone. */
export const COREDNS = {
  name: 'coredns',
  version: '1.12.4',
  oldest: '1.12.0',
  versionArgs: ['-version'],
  env: 'FAIRLEAD_TESTBED_COREDNS',
  ofRealNode: true,
  go: {
    dir: 'coredns',
    package: 'fairlead.dev/testbed/coredns',
    ownSource: true,
    set: {},
    oldestGo: '1.24',
    about: 'about 1 min',
  },
} as const;
