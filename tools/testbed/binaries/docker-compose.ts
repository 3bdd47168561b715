const VERSION = '2.40.3';

/** Docker Compose, as its own program: `docker-compose`. */
export const DOCKER_COMPOSE = {
  name: 'docker-compose',
  version: VERSION,
  oldest: '2.24.0',
  versionArgs: ['version', '--short'],
  env: 'FAIRLEAD_TESTBED_DOCKER_COMPOSE',
  go: {
    dir: 'docker-compose',
    package: 'github.com/docker/compose/v2/cmd',
    set: { 'github.com/docker/compose/v2/internal.Version': `v${VERSION}` },
    oldestGo: '1.24.9',
    about: 'about 3 min',
  },
} as const;
