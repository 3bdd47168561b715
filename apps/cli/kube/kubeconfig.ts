import { stringify } from 'yaml';
import { failure } from '../failure.js';
import type { ClusterAccess } from '../session/answers.js';

export interface KubeconfigOptions {
  readonly access: ClusterAccess;
  /** The installation, as in the stored login: its token goes nowhere else. */
  readonly server: string;
  /** Door of the context `<cluster>`; the first unless given. */
  readonly door?: string | undefined;
  readonly self: { readonly node: string; readonly script: string };
  readonly home?: string | undefined;
}

/** A kubeconfig, YAML, without any secret: kubectl asks this command for the token each time. */
export function kubeconfig({ access, server, door, self, home }: KubeconfigOptions): string {
  const { name } = access.cluster;
  const chosen = door === undefined ? access.doors[0] : access.doors.find((candidate) => candidate.name === door);
  if (!chosen) throw noSuchDoor(access, door);
  const user = `fairlead@${new URL(server).host}`;
  const context = (label: string, at: string): object => ({ name: label, context: { cluster: `${name}@${at}`, user } });
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: access.doors.map((candidate) => ({
      name: `${name}@${candidate.name}`,
      cluster: {
        server: `${candidate.url.replace(/\/+$/, '')}/clusters/${name}`,
        'certificate-authority-data': Buffer.from(access.certificateAuthority).toString('base64'),
      },
    })),
    users: [{ name: user, user: { exec: execPlugin(server, self, home) } }],
    contexts: [context(name, chosen.name), ...access.doors.map((each) => context(`${name}@${each.name}`, each.name))],
    'current-context': name,
  });
}

/** https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins */
function execPlugin(server: string, self: KubeconfigOptions['self'], home: string | undefined): object {
  return {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: self.node,
    args: [self.script, 'credential', '--server', server],
    ...(home === undefined ? {} : { env: [{ name: 'FAIRLEAD_HOME', value: home }] }),
    interactiveMode: 'IfAvailable',
    provideClusterInfo: false,
    installHint:
      'This kubeconfig needs the fairlead command where it was made. Make a new one: fairlead kubeconfig <cluster>',
  };
}

function noSuchDoor(access: ClusterAccess, door: string | undefined): Error {
  const names = access.doors.map((candidate) => candidate.name).join(', ');
  if (door === undefined || names === '') {
    return failure('NOT_FOUND', 'this installation names no door to its clusters', 'set FAIRLEAD_DOORS for the API');
  }
  return failure('NOT_FOUND', `there is no door ${door}`, `use one of: ${names}`);
}
