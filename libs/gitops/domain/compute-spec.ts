import { type Assignment, type GitHostEntry, CLUSTER_SERVICE } from '@fairlead/contracts';
import {
  GitOpsSpec,
  MAX_DESIRED_STATE_BYTES,
  type BundleReference,
  type CatalogSource,
  type KnownHost,
} from '@fairlead/desired-state';
import { isHeld } from './key-plan.js';
import type { DeployKeyState } from './key-state.js';

/** Room for what stands around a spec in its document. */
const ENVELOPE_BYTES = 500;

export interface SpecInput {
  readonly clusterName: string;
  readonly assignment: Assignment;
  /** Undefined: it is gone, which the service does not let happen. */
  readonly bundle: BundleReference | undefined;
  /** Undefined: the assignment names none. */
  readonly repository: CatalogLocation | undefined;
  /** As keys shows it; undefined: it does not. */
  readonly host: GitHostEntry | undefined;
  readonly keys: DeployKeyState;
  /** What is desired so far. */
  readonly previous: GitOpsSpec | null;
  readonly holdRepairs: boolean;
}

export interface CatalogLocation {
  readonly name: string;
  readonly gitHost: string;
  readonly sshUrl: string;
  readonly defaultBranch: string | null;
}

export interface ComputedSpec {
  readonly gitops: GitOpsSpec | null;
  /** What somebody has to do before all of it can be desired. */
  readonly waitsFor: string | null;
}

/**
 * What a cluster's installer is to do. Fails closed: without approved host keys nothing new is followed, and what was followed is
 * suspended with the keys of before, since a source that vanished would take what it deployed with it.
 */
export function computeSpec(input: SpecInput): ComputedSpec {
  const { assignment, bundle, previous, keys, holdRepairs } = input;
  if (!bundle)
    return { gitops: previous, waitsFor: `the bundle ${assignment.tool} ${assignment.bundleVersion} is not there` };
  const { source, waitsFor, frozen } = sourceOf(input);
  const held = isHeld(keys);
  const spec = GitOpsSpec.safeParse({
    tool: assignment.tool,
    bundle,
    images: assignment.images,
    source,
    deployKey: {
      current: keys.current.number,
      next: keys.next?.number ?? null,
      // The source stays where it is, suspended: one that vanished would forget what it deployed.
      currentReady: keys.current.ready || held,
      nextReady: keys.next?.ready ?? false,
    },
    suspend: assignment.suspend || frozen || held,
    selfHeal: assignment.selfHeal,
    lockdown: assignment.lockdown,
    holdRepairs,
  });
  if (!spec.success)
    return { gitops: previous, waitsFor: `what the assignment ${assignment.name} makes of it is not valid` };
  if (Buffer.byteLength(JSON.stringify(spec.data)) > MAX_DESIRED_STATE_BYTES - ENVELOPE_BYTES) {
    return { gitops: previous, waitsFor: `what the assignment ${assignment.name} makes of it is too large` };
  }
  return { gitops: spec.data, waitsFor };
}

/** `{cluster}` is the cluster's name. */
export function pathOf(path: string, clusterName: string): string {
  return path.replaceAll('{cluster}', clusterName);
}

interface Source {
  readonly source: CatalogSource | null;
  readonly waitsFor: string | null;
  readonly frozen: boolean;
}

function sourceOf({ clusterName, assignment, repository, host, previous }: SpecInput): Source {
  if (assignment.repository === null) return { source: null, waitsFor: null, frozen: false };
  if (!repository) return unchanged(previous, `the repository ${assignment.repository} is not there`);
  if (!host) return unchanged(previous, `the Git host ${repository.gitHost} is not there`);
  const unusable = whyNotThrough(assignment.gitThrough, host);
  if (unusable !== null) return unchanged(previous, unusable);
  const dialled = dialledOf(assignment.gitThrough, host);
  const knownHosts = knownHostsOf(host.approvedKeys, dialled);
  if (knownHosts.length === 0) {
    return unchanged(previous, `nobody has approved SSH host keys of the Git host ${host.name}: approve them`);
  }
  const branch = assignment.branch ?? repository.defaultBranch;
  if (branch === null) return unchanged(previous, `the repository ${repository.name} has no branch: name one`);
  const url = sshUrlOf(repository.sshUrl, dialled);
  if (url === null) return unchanged(previous, `the SSH address of the repository ${repository.name} cannot be used`);
  const { intervalSeconds, prune, verification } = assignment;
  const path = pathOf(assignment.path, clusterName);
  return {
    source: { url, branch, path, knownHosts, intervalSeconds, prune, verification },
    waitsFor: null,
    frozen: false,
  };
}

function unchanged(previous: GitOpsSpec | null, waitsFor: string): Source {
  return { source: previous?.source ?? null, waitsFor, frozen: previous?.source != null };
}

type SshAddress = Pick<GitHostEntry, 'sshHost' | 'sshPort'>;

/** Where the host is dialled. Whatever stands on the way, the keys that count are the host's. */
function dialledOf(through: string | undefined, host: GitHostEntry): SshAddress {
  if (through === undefined) return host;
  const at = through.lastIndexOf(':');
  return { sshHost: through.slice(0, at), sshPort: Number(through.slice(at + 1)) };
}

/** Dialled where the approved keys are of, whatever host the repository's own address names. Null: neither `ssh://` nor scp's form. */
export function sshUrlOf(sshUrl: string, { sshHost, sshPort }: SshAddress): string | null {
  const match =
    /^ssh:\/\/([^@/:]+)@[^/]+\/(.+)$/.exec(sshUrl) ??
    /^([^@/:]+)@(?:[^/:[\]]+|\[[^\]/]+\]):(?!\/\/)\/?(.+)$/.exec(sshUrl);
  if (!match) return null;
  const [, user, path] = match;
  return `ssh://${user}@${sshHost}${sshPort === 22 ? '' : `:${sshPort}`}/${path}`;
}

function knownHostsOf(approvedKeys: readonly string[], { sshHost, sshPort }: SshAddress): KnownHost[] {
  const host = sshPort === 22 ? sshHost : `[${sshHost}]:${sshPort}`;
  return approvedKeys.map((text) => {
    const [type, key] = text.split(' ') as [KnownHost['type'], string];
    return { host, type, key };
  });
}

/** Why `keys` would not sign that a Git host is dialled so; null: it does. */
export function whyNotThrough(
  gitThrough: Assignment['gitThrough'],
  { name, sshHost }: Pick<GitHostEntry, 'name' | 'sshHost'>,
): string | null {
  const host = gitThrough?.slice(0, gitThrough.lastIndexOf(':'));
  if (host === undefined || host === sshHost || CLUSTER_SERVICE.test(host)) return null;
  return (
    `the Git host ${name} cannot be dialled through ${host}: write ${sshHost} with another port, or a Service of the cluster, ` +
    'NAME.NAMESPACE.svc:PORT'
  );
}
