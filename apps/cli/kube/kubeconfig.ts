import { failure } from '../failure.js';
import type { ClusterAccess } from '../session/answers.js';
import type { Self } from '../io.js';

interface KubeconfigOptions {
  /** Of one cluster, or of several. */
  readonly accesses: readonly ClusterAccess[];
  /** The installation, as in the stored login: its token goes nowhere else. */
  readonly server: string;
  /** Door of the contexts named like a cluster; the first unless given. */
  readonly door?: string | undefined;
  /** Each cluster at a host name of its own, for tools that cannot carry a path. */
  readonly byName?: boolean | undefined;
  readonly self: Self;
  readonly home?: string | undefined;
}

/** The lists of a kubeconfig. */
export const LISTS = ['clusters', 'users', 'contexts'] as const;
export type NamedEntry = { readonly name: string } & Readonly<Record<string, unknown>>;

/** https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/, as far as it is made here. */
export interface Kubeconfig extends Readonly<Record<(typeof LISTS)[number], readonly NamedEntry[]>> {
  readonly apiVersion: 'v1';
  readonly kind: 'Config';
  /** Only where there is one cluster to choose: nobody should work in one of many by chance. */
  readonly 'current-context'?: string;
}

/** A kubeconfig without any secret: kubectl asks this command for the token each time. NOT_FOUND if there is no such door. */
export function kubeconfig({ accesses, server, door, byName, self, home }: KubeconfigOptions): Kubeconfig {
  const { host } = new URL(server);
  const [only, ...others] = accesses;
  const current = only && others.length === 0 ? { 'current-context': only.cluster.name } : {};
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: accesses.flatMap((access) => clusterEntries(access, byName ?? false)),
    users: accesses.map(({ cluster: { name } }) => ({
      name: userOf(name, host),
      user: { exec: execPlugin(name, { server, self, home }) },
    })),
    contexts: accesses.flatMap((access) => contextEntries(access, door, userOf(access.cluster.name, host))),
    ...current,
  };
}

/** One for each cluster: what somebody carries for one is worth nothing in another. */
function userOf(cluster: string, host: string): string {
  return `${cluster}@${host}`;
}

/** One for each door. */
export function clusterEntries(
  { cluster: { name }, doors, certificateAuthority }: ClusterAccess,
  byName: boolean,
): NamedEntry[] {
  return doors.map((door) => ({
    name: `${name}@${door.name}`,
    cluster: {
      server: byName ? ownHostOf(door) : `${door.url.replace(/\/+$/, '')}/clusters/${name}`,
      'certificate-authority-data': Buffer.from(certificateAuthority).toString('base64'),
    },
  }));
}

/** One named like the cluster, and one for each door. NOT_FOUND if there is no such door. */
export function contextEntries(access: ClusterAccess, door: string | undefined, user: string): NamedEntry[] {
  const { name } = access.cluster;
  const chosen = door === undefined ? access.doors[0] : access.doors.find((candidate) => candidate.name === door);
  if (!chosen) throw noSuchDoor(access, door);
  const context = (label: string, at: string): NamedEntry => ({
    name: label,
    context: { cluster: `${name}@${at}`, user },
  });
  return [context(name, chosen.name), ...access.doors.map((each) => context(`${name}@${each.name}`, each.name))];
}

function ownHostOf({ byName }: ClusterAccess['doors'][number]): string {
  if (byName !== undefined) return byName;
  throw failure(
    'NOT_FOUND',
    'this installation has no host names for its clusters',
    'leave --by-name out, or have FAIRLEAD_CLUSTER_DOMAIN set for the API and the gateways',
  );
}

/** https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins */
function execPlugin(
  cluster: string,
  { server, self, home }: Pick<KubeconfigOptions, 'server' | 'self' | 'home'>,
): object {
  return {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: self.program,
    args: [...self.args, 'credential', '--server', server, '--cluster', cluster],
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
