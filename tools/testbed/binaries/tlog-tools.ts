/** Upstream's check of a log in the format tlog-tiles, from its checkpoint and tiles. */
export const TESSERA_FSCK = {
  name: 'tessera-fsck',
  version: '1.0.4',
  oldest: '1.0.4',
  env: 'FAIRLEAD_TESTBED_TESSERA_FSCK',
  go: {
    dir: 'tessera-fsck',
    package: 'github.com/transparency-dev/tessera/cmd/fsck',
    set: {},
    oldestGo: '1.24',
    about: 'about 20 s',
  },
} as const;

/** Verifies a log with golang.org/x/mod's sumdb/note and sumdb/tlog, of whose version this is, in a program of ours. */
export const TLOG_VERIFY = {
  name: 'tlog-verify',
  version: '0.43.0',
  oldest: '0.43.0',
  versionArgs: ['-version'],
  env: 'FAIRLEAD_TESTBED_TLOG_VERIFY',
  go: {
    dir: 'tlog-verify',
    package: 'fairlead.dev/testbed/tlog-verify',
    ownSource: true,
    set: { 'main.version': '0.43.0' },
    oldestGo: '1.26',
    about: 'some seconds',
  },
} as const;
