import { FairleadError } from '@fairlead/errors';
import type { DeployKey, RecordedKey } from '../git-host.js';
import type { Ownership } from '../ownership.js';
import type { RepositoryPath } from '../repository-path.js';
import { parseSshPublicKey, type SshPublicKey } from '../ssh-public-key.js';
import { isUncertain, type HostApi, type HostKey } from './host-api.js';

interface KeyWork {
  readonly api: HostApi;
  readonly ownership: Ownership;
  readonly path: RepositoryPath;
  readonly signal: AbortSignal;
  readonly list: () => Promise<DeployKey[]>;
}

interface KeySpec {
  readonly title: string;
  readonly key: SshPublicKey;
}

/** Adds a key that may only read, and looks at what the host made of it. */
export async function addKey(
  work: KeyWork,
  spec: KeySpec,
  known?: readonly DeployKey[],
): Promise<{ state: 'added' | 'present'; key: DeployKey }> {
  const before = known ?? (await work.list());
  const present = findIn(before, spec);
  if (present) return { state: 'present', key: present };
  let made: HostKey;
  try {
    made = await work.api.createKey(work.path, { title: spec.title, key: spec.key.text }, work.signal);
  } catch (error) {
    return afterFailure(work, spec, error);
  }
  const key = toDeployKey(made, work.ownership);
  if (key.fingerprint === spec.key.fingerprint && key.readOnly && key.title === spec.title)
    return { state: 'added', key };
  if (before.some(({ id }) => id === key.id))
    throw new FairleadError('PROTOCOL_ERROR', 'the Git host answered with another deploy key than it was given');
  return undo(work, spec, key);
}

/** Removes a key only if everything says that it is the one that was added by this installation. */
export async function removeKey(work: KeyWork, recorded: RecordedKey): Promise<{ state: 'removed' | 'gone' }> {
  const found = await work.api.key(work.path, recorded.id, work.signal);
  if (!found) {
    // Only a list that can be read proves that it is not there.
    const listed = (await work.list()).some((key) => key.id === recorded.id);
    if (listed) throw new FairleadError('PROTOCOL_ERROR', 'the Git host lists a deploy key and does not have it');
    return { state: 'gone' };
  }
  const key = toDeployKey(found, work.ownership);
  if (key.id !== recorded.id || !key.ours || key.fingerprint !== recorded.fingerprint) {
    const message = 'the deploy key with this number is not the one that was added here; it stays';
    throw new FairleadError('CONFLICT', message, { details: { keyId: recorded.id } });
  }
  return { state: (await work.api.deleteKey(work.path, recorded.id, work.signal)) ? 'removed' : 'gone' };
}

export function toDeployKey(from: HostKey, ownership: Ownership): DeployKey {
  const parsed = parseSshPublicKey(from.key);
  return {
    id: from.id,
    // Anybody's text: fit for a terminal and a log.
    title: from.title.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\u{FFFD}'),
    publicKey: parsed?.text ?? '',
    fingerprint: parsed?.fingerprint ?? null,
    readOnly: from.readOnly,
    enabled: from.enabled,
    ours: ownership.isOurs(from.title),
  };
}

function findIn(keys: readonly DeployKey[], spec: KeySpec): DeployKey | undefined {
  const found = keys.find((key) => key.fingerprint === spec.key.fingerprint);
  if (found?.readOnly === false) {
    const message = 'the repository has this deploy key with the right to write: remove it there first';
    throw new FairleadError('CONFLICT', message, { details: { keyId: found.id } });
  }
  return found;
}

/** Refused, or nobody knows: the repository's list tells. */
async function afterFailure(work: KeyWork, spec: KeySpec, error: unknown): Promise<{ state: 'added'; key: DeployKey }> {
  if (!(error instanceof FairleadError)) throw error;
  const refused = error.code === 'INVALID_ARGUMENT' || error.code === 'CONFLICT';
  if (!refused && !isUncertain(error)) throw error;
  const key = findIn(await work.list(), spec);
  if (key) return { state: 'added', key };
  if (!refused) throw error;
  // The key itself was checked before: what is left is its use elsewhere, a title that is taken, or a rule against deploy keys.
  const message = 'the Git host refuses the deploy key: most likely it is in use elsewhere on it';
  throw new FairleadError('GIT_KEY_IN_USE', message, {
    cause: error,
    ...(error.details ? { details: error.details } : {}),
  });
}

/**
 * The repository has now something else than was asked for. GitLab does so: where the key is known from another project it
 * enables that one, with the other's title. What came in by this call goes out again.
 */
async function undo(work: KeyWork, spec: KeySpec, key: DeployKey): Promise<never> {
  await work.api.deleteKey(work.path, key.id, work.signal);
  if (key.fingerprint !== spec.key.fingerprint)
    throw new FairleadError('PROTOCOL_ERROR', 'the Git host added another key than it was given; it was removed again');
  const message = key.readOnly
    ? 'the deploy key is in use elsewhere on the Git host, which would share it; it was not added'
    : 'the Git host added the deploy key with the right to write; it was removed again';
  throw new FairleadError(key.readOnly ? 'GIT_KEY_IN_USE' : 'PROTOCOL_ERROR', message);
}
