/** What upstream's release build sets of a program of Kubernetes. kubectl asks client-go for its version, older ones and all other programs component-base. */
export function kubernetesVersion(version: string): Record<string, string> {
  const [major, minor] = version.split('.') as [string, string];
  const values = { gitVersion: `v${version}`, gitMajor: major, gitMinor: minor, gitTreeState: 'archive' };
  return Object.fromEntries(
    ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap((path) =>
      Object.entries(values).map(([key, value]) => [`${path}.${key}`, value]),
    ),
  );
}
