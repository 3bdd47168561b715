/** An OpenID Connect provider of another author than oidc-provider: upstream's example, in a program of ours that listens on loopback alone. */
export const ZITADEL_OIDC = {
  name: 'zitadel-oidc',
  version: '3.52.0',
  oldest: '3.52.0',
  versionArgs: ['-version'],
  env: 'FAIRLEAD_TESTBED_ZITADEL_OIDC',
  go: {
    dir: 'zitadel-oidc',
    package: 'fairlead.dev/testbed/zitadel-oidc',
    ownSource: true,
    set: { 'main.version': '3.52.0' },
    oldestGo: '1.26',
    about: 'some seconds',
  },
} as const;
