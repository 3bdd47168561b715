import { kubernetesVersion } from './kubernetes-version.js';

/** kubectl of another minor version than the cluster's, as a user has it: the oldest and the newest that Go builds from modules. */
export const OTHER_KUBECTLS = {
  'kubectl-oldest': kubectl('kubectl-oldest', '1.25.16', '1.24'),
  'kubectl-newest': kubectl('kubectl-newest', '1.37.2', '1.26'),
};
export type OtherKubectl = keyof typeof OTHER_KUBECTLS;

function kubectl<Name extends string>(name: Name, version: string, oldestGo: string) {
  const set = kubernetesVersion(version);
  return {
    name,
    version,
    oldest: version,
    versionArgs: ['version', '--client'],
    env: `FAIRLEAD_TESTBED_${name.toUpperCase().replace('-', '_')}`,
    go: { dir: name, package: `fairlead.dev/testbed/${name}`, ownSource: true, set, oldestGo, about: 'about 1 min' },
  } as const;
}
