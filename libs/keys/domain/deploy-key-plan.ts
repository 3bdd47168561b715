import type { DeployKey } from '@fairlead/git-hosts';

/** As in the contract. */
export type DeployKeyState = 'wanted' | 'present' | 'by-hand' | 'refused' | 'removing' | 'removed';

/** A cluster's key in a repository, as far as a plan goes by it. */
export interface PlannedKey {
  readonly id: string;
  readonly fingerprint: string;
  readonly state: DeployKeyState;
  readonly stateSince: Date;
  /** Of the host, of the key that we added. */
  readonly remoteId: string | null;
}

/** What is to be done about one key. */
export type KeyStep<K extends PlannedKey = PlannedKey> =
  | { readonly do: 'add'; readonly key: K; readonly restores: boolean }
  /** By this number on the host, which belongs to a key of ours. */
  | { readonly do: 'remove'; readonly key: K; readonly remoteId: string }
  /** It is there. `remoteId`: of a key of ours; null: somebody else added it. */
  | { readonly do: 'note-present'; readonly key: K; readonly remoteId: string | null }
  /** `stays`: it is on the host still, since somebody else added it. */
  | { readonly do: 'note-removed'; readonly key: K; readonly stays: boolean }
  | { readonly do: 'note-refused'; readonly key: K; readonly code: string; readonly why: string };

/** A key that the host refused is offered again after this. */
const RETRY_REFUSED_MS = 10 * 60_000;

/**
 * What makes a repository's keys as they are desired, first what goes and then what comes: a title may be needed again. Keys that we did
 * not add are never removed, nor is one that another of our rows still wants.
 */
export function planKeys<K extends PlannedKey>(
  desired: readonly K[],
  listed: readonly DeployKey[],
  now: Date,
): KeyStep<K>[] {
  const steps = desired.map((key) => stepFor(key, desired, listed, now)).filter((step) => step !== null);
  return steps.toSorted((a, b) => ORDER[a.do] - ORDER[b.do]);
}

const ORDER: Readonly<Record<KeyStep['do'], number>> = {
  'note-present': 0,
  'note-removed': 0,
  'note-refused': 0,
  remove: 1,
  add: 2,
};

function stepFor<K extends PlannedKey>(
  key: K,
  all: readonly K[],
  listed: readonly DeployKey[],
  now: Date,
): KeyStep<K> | null {
  if (key.state === 'removed') return null;
  const found = listed.find(({ fingerprint }) => fingerprint === key.fingerprint);
  if (key.state === 'removing') return removal(key, all, listed, found);
  if (!found) {
    if (key.state === 'refused' && now.getTime() - key.stateSince.getTime() < RETRY_REFUSED_MS) return null;
    return { do: 'add', key, restores: key.state === 'present' };
  }
  if (!found.readOnly) {
    const why = 'the repository has this key with the right to write: remove it there first';
    return { do: 'note-refused', key, code: 'CONFLICT', why };
  }
  if (!found.enabled) {
    const why = 'the key is on the host and does not work: a rule forbids deploy keys, or it expired';
    return { do: 'note-refused', key, code: 'GIT_KEY_DISABLED', why };
  }
  return { do: 'note-present', key, remoteId: found.ours ? found.id : null };
}

/** A key of our title with the right fingerprint is ours, too, when its number was never recorded: the process ended just then. */
function removal<K extends PlannedKey>(
  key: K,
  all: readonly K[],
  listed: readonly DeployKey[],
  found: DeployKey | undefined,
): KeyStep<K> {
  const isOthers = all.some(
    (other) =>
      other.id !== key.id && other.fingerprint === key.fingerprint && !['removing', 'removed'].includes(other.state),
  );
  const recorded = listed.find(({ id, ours }) => id === key.remoteId && ours);
  const remove = recorded?.fingerprint === key.fingerprint ? recorded : found?.ours ? found : undefined;
  if (!remove || isOthers) return { do: 'note-removed', key, stays: found !== undefined && !isOthers };
  return { do: 'remove', key, remoteId: remove.id };
}
