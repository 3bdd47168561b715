import type { GitHost, GitHostEntry } from '@fairlead/contracts';
import type { EntityManager } from 'typeorm';
import { showsOthers, type KnownHostKey } from '../../domain/host-key-set.js';
import { hostKeysOf, type StoredGitHost } from '../../store/git-host-store.js';

/** Hosts as administrators see them. */
export async function viewHosts(manager: EntityManager, hosts: readonly StoredGitHost[]): Promise<GitHost[]> {
  const ids = hosts.map(({ id }) => id);
  const keys = await hostKeysOf(manager, ids);
  return hosts.map((host) => toGitHost(host, keys.get(host.id) ?? []));
}

export async function viewHost(manager: EntityManager, host: StoredGitHost): Promise<GitHost> {
  return toGitHost(host, (await hostKeysOf(manager, [host.id])).get(host.id) ?? []);
}

/**
 * A host as those see it who tell clusters about it. What it shows stands first: programs built with golang.org/x/crypto before 0.46, as
 * Flux is, believe the first key of each type alone, and one that is only announced must not stand before the one in use.
 */
export function toEntry(
  { id, name, sshHost, sshPort, scannedAt }: EntryHost,
  keys: readonly KnownHostKey[],
): GitHostEntry {
  const approved = keys.filter(({ state }) => state === 'approved');
  const isShown = ({ lastSeenAt }: KnownHostKey): boolean =>
    scannedAt !== null && lastSeenAt !== null && lastSeenAt >= scannedAt;
  const textsOf = (some: readonly KnownHostKey[]): string[] => some.map(({ publicKey }) => publicKey).toSorted();
  const approvedKeys = [...textsOf(approved.filter(isShown)), ...textsOf(approved.filter((key) => !isShown(key)))];
  return { id, name, sshHost, sshPort, approvedKeys };
}

type EntryHost = Pick<StoredGitHost, 'id' | 'name' | 'sshHost' | 'sshPort' | 'scannedAt'>;

/** Of one that was deleted and made again it is another one. */
export function revisionOfHost({ id, revision }: Pick<StoredGitHost, 'id' | 'revision'>): string {
  return `${id}.${revision}`;
}

function toGitHost(host: StoredGitHost, keys: readonly KnownHostKey[]): GitHost {
  const { id, name, kind, url, sshHost, sshPort, createRepositories, sealedToken, tokenExpiresAt, checkedAt } = host;
  return {
    id,
    name,
    kind,
    url,
    sshHost,
    sshPort,
    createRepositories,
    hasToken: sealedToken !== null,
    tokenExpiresAt: tokenExpiresAt?.toISOString() ?? null,
    checkedAt: checkedAt?.toISOString() ?? null,
    findings: [...host.findings],
    problem: problemOf(host, keys),
    revision: revisionOfHost(host),
    hostKeys: keys.map(({ publicKey, firstSeenAt, lastSeenAt, ...key }) => ({
      ...key,
      key: publicKey,
      firstSeenAt: firstSeenAt.toISOString(),
      lastSeenAt: lastSeenAt?.toISOString() ?? null,
    })),
  };
}

/** What keeps us out goes before what keeps clusters out. */
function problemOf(host: StoredGitHost, keys: readonly KnownHostKey[]): GitHost['problem'] {
  const { problemCode: code, problemMessage, retryAt, scannedAt } = host;
  if (code !== null) return { code, message: problemMessage ?? '', retryAt: retryAt?.toISOString() ?? null };
  if (!showsOthers(keys, scannedAt)) return null;
  const message =
    'the host shows none of the SSH keys that are approved: clusters refuse it; find out why, then approve its keys';
  return { code: 'GIT_HOST_KEY_CHANGED', message, retryAt: null };
}
