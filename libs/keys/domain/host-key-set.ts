import { FairleadError } from '@fairlead/errors';
import { parseSshPublicKey } from '@fairlead/git-hosts';

export type HostKeyState = 'proposed' | 'approved' | 'withdrawn';

/** An SSH key of a Git host. */
export interface KnownHostKey {
  readonly fingerprint: string;
  readonly type: string;
  /** `TYPE BASE64`. */
  readonly publicKey: string;
  readonly state: HostKeyState;
  readonly firstSeenAt: Date;
  /** Null: the host never showed it. */
  readonly lastSeenAt: Date | null;
  readonly decidedBy: string | null;
}

/** Of each state: a host that shows another key each time fills no table, and pushes out none that somebody decided on lately. */
const KEPT = 8;

/**
 * What is known after the host showed these keys. New ones are proposed, and count for nothing. `raised`: those that are new where others
 * are approved, which somebody should hear of.
 */
export function afterScan(
  known: readonly KnownHostKey[],
  shown: readonly string[],
  now: Date,
): { readonly keys: readonly KnownHostKey[]; readonly raised: readonly KnownHostKey[] } {
  const seen = new Map(shown.map((line) => [read(line).fingerprint, line]));
  const before = known.map((key) => (seen.has(key.fingerprint) ? { ...key, lastSeenAt: now } : key));
  const added = [...seen]
    .filter(([fingerprint]) => !known.some((key) => key.fingerprint === fingerprint))
    .map(([, line]): KnownHostKey => newKey(line, { state: 'proposed', now, lastSeenAt: now, decidedBy: null }));
  const isPinned = known.some(({ state }) => state === 'approved');
  return { keys: keepLatest([...before, ...added]), raised: isPinned ? added : [] };
}

/**
 * These are the pinned set from now on; those that were and are not among them are withdrawn. `given`: keys that are known from
 * elsewhere. NOT_FOUND for a fingerprint that was never shown or given.
 */
export function afterApproval(
  known: readonly KnownHostKey[],
  decision: { readonly fingerprints: readonly string[]; readonly given: readonly string[]; readonly by: string },
  now: Date,
): { readonly keys: readonly KnownHostKey[]; readonly withdrawn: readonly string[] } {
  const { fingerprints, given, by } = decision;
  const brought = given
    .map((line) => newKey(line, { state: 'proposed', now, lastSeenAt: null, decidedBy: null }))
    .filter(({ fingerprint }) => fingerprints.includes(fingerprint) && !known.some(is(fingerprint)));
  const all = [...known, ...brought];
  const unknown = fingerprints.filter((fingerprint) => !all.some(is(fingerprint)));
  if (unknown.length > 0) {
    const message = `no such key was shown by the host, or given: ${unknown.join(', ')}; scan it again, or give the key itself`;
    throw new FairleadError('NOT_FOUND', message);
  }
  const decide = (key: KnownHostKey): KnownHostKey => {
    if (fingerprints.includes(key.fingerprint)) {
      return key.state === 'approved' ? key : { ...key, state: 'approved', decidedBy: by };
    }
    return key.state === 'approved' ? { ...key, state: 'withdrawn', decidedBy: by } : key;
  };
  const wasApproved = known.filter(({ state }) => state === 'approved').map(({ fingerprint }) => fingerprint);
  return {
    keys: keepLatest(all.map(decide)),
    withdrawn: wasApproved.filter((fingerprint) => !fingerprints.includes(fingerprint)),
  };
}

/** The host's address is another one: what was pinned for the old one says nothing of it. */
export function afterMove(known: readonly KnownHostKey[], by: string): readonly KnownHostKey[] {
  return known
    .filter(({ state }) => state !== 'proposed')
    .map((key) => (key.state === 'approved' ? { ...key, state: 'withdrawn', decidedBy: by } : key));
}

/** Did the host, when it was last looked at, show none of the keys that are pinned? Then no cluster can fetch from it. */
export function showsOthers(keys: readonly KnownHostKey[], scannedAt: Date | null): boolean {
  const approved = keys.filter(({ state }) => state === 'approved');
  if (scannedAt === null || approved.length === 0) return false;
  return approved.every(({ lastSeenAt }) => lastSeenAt === null || lastSeenAt < scannedAt);
}

const is =
  (fingerprint: string) =>
  (key: KnownHostKey): boolean =>
    key.fingerprint === fingerprint;

function read(line: string): { type: string; fingerprint: string; text: string } {
  const key = parseSshPublicKey(line);
  if (key) return key;
  throw new FairleadError('INVALID_ARGUMENT', 'this is not an SSH public key: expected TYPE BASE64');
}

function newKey(
  line: string,
  about: {
    readonly state: HostKeyState;
    readonly now: Date;
    readonly lastSeenAt: Date | null;
    readonly decidedBy: null;
  },
): KnownHostKey {
  const { now: firstSeenAt, ...rest } = about;
  const { type, fingerprint, text: publicKey } = read(line);
  return { fingerprint, type, publicKey, firstSeenAt, ...rest };
}

/** Approved ones are never forgotten by themselves; their number is bounded by the decision. */
function keepLatest(keys: readonly KnownHostKey[]): readonly KnownHostKey[] {
  const lastMs = ({ lastSeenAt, firstSeenAt }: KnownHostKey): number => (lastSeenAt ?? firstSeenAt).getTime();
  const latest = (state: HostKeyState): Set<KnownHostKey> =>
    new Set(
      keys
        .filter((key) => key.state === state)
        .toSorted((a, b) => lastMs(b) - lastMs(a))
        .slice(0, KEPT),
    );
  const kept = new Set([...latest('proposed'), ...latest('withdrawn')]);
  return keys.filter((key) => key.state === 'approved' || kept.has(key));
}
