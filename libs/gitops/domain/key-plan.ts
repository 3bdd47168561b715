import { type DeployKeyState, type Key, type ReportedKey, nextNumberAtMs, useNumber } from './key-state.js';

/** Keys that are being withdrawn at once: a cluster that shows another key each time gets no further numbers. */
const MAX_DROPS = 8;
const MAX_NUMBER = 1_000_000;

export type RotationCause = Pick<Required<Key>, 'why' | 'begunAtMs'>;

export interface KeyRequest {
  readonly number: number;
  readonly publicKey: string;
}

/**
 * Which numbers a cluster's keys have, after what its installer reported and for the repository that it is to follow (null:
 * none). A number stands for one key in one repository, for ever: another repository, or another key under the same number,
 * makes a new number. Of the latter a cluster has few at a time: each costs calls of the Git host's API, which all clusters share.
 */
export function planKeys(
  state: DeployKeyState,
  repositoryId: string | null,
  reported: readonly ReportedKey[],
  now: Date,
): DeployKeyState {
  const moved = followRepository(state, repositoryId);
  return switchToNext(learn(moved, reported, now.getTime()), reported);
}

/** Of planned keys: when the cluster gets a number for a key that it changed by itself. Null: it waits for none. */
export function numberDueAt(state: DeployKeyState, reported: readonly ReportedKey[], now: Date): Date | null {
  const changed = [state.current, ...(state.next ? [state.next] : [])].some((key) => isChanged(key, reported));
  const atMs = nextNumberAtMs(state.allowance, now.getTime());
  return changed && atMs > now.getTime() ? new Date(atMs) : null;
}

/** What the Git host is to hold, and is not known to hold yet. */
export function missingKeys({ repositoryId, current, next }: DeployKeyState): KeyRequest[] {
  if (repositoryId === null) return [];
  return [current, ...(next ? [next] : [])].flatMap(({ number, publicKey, ready }) =>
    publicKey !== null && !ready ? [{ number, publicKey }] : [],
  );
}

/** Since when a key is ready, as far as it is not noted yet: one from before ages are known is as old as this knowledge. */
export function noteAges(state: DeployKeyState, nowMs: number): DeployKeyState {
  const note = (key: Key): Key => (key.ready && key.readyAtMs === undefined ? { ...key, readyAtMs: nowMs } : key);
  return { ...state, current: note(state.current), next: state.next && note(state.next) };
}

/** Is what the cluster follows held, because its key was withdrawn before it had another one? */
export function isHeld({ current }: Pick<DeployKeyState, 'current'>): boolean {
  return current.held === true && !current.ready;
}

/** The Git host has this one; or, with instructions, somebody is to add it, and the cluster finds out whether that was done. */
export function markReady(state: DeployKeyState, number: number, byHand: string | null = null): DeployKeyState {
  const mark = (key: Key): Key => (key.number === number ? { ...key, ready: true, byHand } : key);
  return { ...state, current: mark(state.current), next: state.next && mark(state.next) };
}

/** What somebody has to do on the Git host, for a key that does not work yet. */
export function instructionsOf({ current, next }: DeployKeyState, reported: readonly ReportedKey[]): string | null {
  const works = (key: Key): boolean =>
    reported.some(({ number, works: does }) => number === key.number && does === true);
  return [current, ...(next ? [next] : [])].find((key) => key.byHand !== null && !works(key))?.byHand ?? null;
}

/** The next number, to be tried before the present one goes. Null: there is one already, or nothing to rotate. */
export function beginRotation(state: DeployKeyState, cause: RotationCause): DeployKeyState | null {
  if (state.next || state.repositoryId === null || state.highest >= MAX_NUMBER) return null;
  const number = state.highest + 1;
  return { ...state, highest: number, next: { ...newKey(number), ...cause } };
}

/**
 * All keys that the cluster has or had count as compromised: they leave the repository at once, whether or not another one works, and a
 * rotation that was under way is over. Until the new key is ready, what is followed is held. A key that nobody has made yet stays
 * wanted, so that the same again costs nothing; and where nothing is followed any more, none is made. Null: nothing is followed and no key is
 * left, or there are no numbers left.
 */
export function replaceCompromised(state: DeployKeyState, begunAtMs: number): DeployKeyState | null {
  const { repositoryId, current, next } = state;
  if (state.highest >= MAX_NUMBER || (repositoryId === null && state.drops.length === 0)) return null;
  const withdrawn = withdraw(withdraw({ ...state, next: null }, next), current);
  const drops = withdrawn.drops.map((drop) => ({ ...drop, atOnce: true as const }));
  if (repositoryId === null || current.publicKey === null) return { ...withdrawn, drops };
  const number = state.highest + 1;
  const held = current.ready || current.held ? ({ held: true } as const) : {};
  return {
    ...withdrawn,
    drops,
    highest: number,
    current: { ...newKey(number), why: 'compromise', begunAtMs, ...held },
  };
}

/**
 * What becomes of a cluster that has one of these keys, which count as compromised: as with `replaceCompromised`; one that is only still to
 * leave does so at once. Null: it has none of them, or there are no numbers left.
 */
export function withdrawCompromised(
  state: DeployKeyState,
  publicKeys: ReadonlySet<string>,
  begunAtMs: number,
): DeployKeyState | null {
  const isOne = ({ publicKey = null }: { readonly publicKey?: string | null }): boolean =>
    publicKey !== null && publicKeys.has(publicKey);
  if (isOne(state.current) || (state.next && isOne(state.next))) return replaceCompromised(state, begunAtMs);
  if (!state.drops.some(isOne)) return null;
  return { ...state, drops: state.drops.map((drop) => (isOne(drop) ? { ...drop, atOnce: true } : drop)) };
}

/** All keys that it has, or that are still to leave. */
export function publicKeysOf({ current, next, drops }: DeployKeyState): string[] {
  return [current, ...(next ? [next] : []), ...drops].flatMap(({ publicKey }) => publicKey ?? []);
}

/** Keys that nobody uses any more, because the cluster has been brought to a revision without them and works with the present one. */
export function droppable(
  { drops, current, repositoryId }: DeployKeyState,
  appliedRevision: number,
  reported: readonly ReportedKey[],
): DeployKeyState['drops'] {
  const works =
    repositoryId === null || reported.some(({ number, works }) => number === current.number && works === true);
  return drops.filter(({ afterRevision }) => works && afterRevision !== null && appliedRevision >= afterRevision);
}

function followRepository(state: DeployKeyState, repositoryId: string | null): DeployKeyState {
  if (state.repositoryId === repositoryId) return state;
  const used = state.repositoryId !== null && state.current.publicKey !== null;
  const left = state.repositoryId === null ? state : withdraw(withdraw(state, state.next), state.current);
  const { held: _held, ...current } = left.current;
  const renewed = used ? renumber({ ...left, next: null }) : { ...left, current, next: null };
  return { ...renewed, repositoryId };
}

/** Takes down the public keys; one that is not the key that it was gets a number of its own. */
function learn(state: DeployKeyState, reported: readonly ReportedKey[], nowMs: number): DeployKeyState {
  const { current } = state;
  const learnt = isChanged(current, reported)
    ? (ifAllowed(state, nowMs, (allowed) => renumber(withdraw(allowed, current))) ?? state)
    : { ...state, current: named(current, reported) };
  const { next } = learnt;
  if (!next) return learnt;
  if (!isChanged(next, reported)) return { ...learnt, next: named(next, reported) };
  const cause = { why: next.why ?? 'demand', begunAtMs: next.begunAtMs ?? nowMs };
  return (
    ifAllowed(learnt, nowMs, (allowed) => beginRotation({ ...withdraw(allowed, next), next: null }, cause)) ?? learnt
  );
}

function named(key: Key, reported: readonly ReportedKey[]): Key {
  return {
    ...key,
    publicKey: key.publicKey ?? reported.find(({ number }) => number === key.number)?.publicKey ?? null,
  };
}

function isChanged({ number, publicKey }: Key, reported: readonly ReportedKey[]): boolean {
  const shown = reported.find((key) => key.number === number);
  return shown !== undefined && publicKey !== null && shown.publicKey !== publicKey;
}

/** Null: the cluster has to wait before it gets another number. */
function ifAllowed(
  state: DeployKeyState,
  nowMs: number,
  change: (state: DeployKeyState) => DeployKeyState | null,
): DeployKeyState | null {
  const allowance = useNumber(state.allowance, nowMs);
  if (!allowance || state.drops.length >= MAX_DROPS) return null;
  return change({ ...state, allowance });
}

function switchToNext(state: DeployKeyState, reported: readonly ReportedKey[]): DeployKeyState {
  const { next } = state;
  const works = reported.some((key) => key.number === next?.number && key.works === true);
  if (!next?.ready || !works) return state;
  return { ...withdraw(state, state.current), current: next, next: null };
}

function renumber(state: DeployKeyState): DeployKeyState {
  const number = Math.min(state.highest + 1, MAX_NUMBER);
  return { ...state, highest: number, current: newKey(number) };
}

function newKey(number: number): Key {
  return { number, publicKey: null, ready: false, byHand: null };
}

/** It is to leave the repository, once a desired state without it was applied. */
function withdraw(state: DeployKeyState, key: DeployKeyState['next']): DeployKeyState {
  const { repositoryId } = state;
  if (!key?.publicKey || repositoryId === null) return state;
  const { number, publicKey } = key;
  return { ...state, drops: [...state.drops, { repositoryId, number, publicKey, afterRevision: null }] };
}
