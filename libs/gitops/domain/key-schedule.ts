import type { DeployKeyState, ReportedKey } from './key-state.js';

/** A key is replaced in the last tenth of the time that it may have: those of a fleet that was made in a minute, not in one minute. */
const SPREAD = 0.1;
/** No key is due before it has had so much of its time. */
export const EARLIEST_SHARE = 1 - SPREAD;
/** Rotations of one Git host that a schedule lets run at once, whoever began them. */
const AT_ONCE = 5;
/** One that takes longer makes room for others… */
const USUAL_MS = 3_600_000;
/** …unless so many of clusters that are heard of do: then something is wrong that another rotation would not mend. */
const MAX_UNFINISHED = 25;

/** What may stand in the way of a rotation that nobody asked for. */
export interface KeyCircumstances {
  readonly clusterId: string;
  readonly keys: DeployKeyState;
  readonly reported: readonly ReportedKey[];
  /** Heard of lately, and healthy in what is desired of it now. */
  readonly healthy: boolean;
  /** What is followed is frozen, by somebody or for want of something. */
  readonly suspended: boolean;
  /** Somebody has to do something first, or its installer objects. */
  readonly waits: boolean;
  readonly rollingOut: boolean;
  readonly breakerOpen: boolean;
}

/**
 * When the present key is to be replaced by schedule, epoch milliseconds. The same cluster has the same place in the spread each time.
 * Null: by no schedule, or its age is not known yet, or another key is on its way.
 */
export function nextRotationMs(
  { current, next }: DeployKeyState,
  everySeconds: number | null,
  clusterId: string,
): number | null {
  if (everySeconds === null || next !== null || !current.ready || current.readyAtMs === undefined) return null;
  return dueAtMs(current.readyAtMs, everySeconds, clusterId);
}

/** The same of a key that is ready since `readyAtMs`. */
export function dueAtMs(readyAtMs: number, everySeconds: number, clusterId: string): number {
  return Math.floor(readyAtMs + everySeconds * 1_000 * (1 - SPREAD * (1 - placeOf(clusterId))));
}

/** Has a schedule run out, and does nothing stand in the way? Only a cluster that works gets another key: one thing at a time. */
export function isToRotate(cluster: KeyCircumstances, everySeconds: number | null, nowMs: number): boolean {
  const { keys, reported, clusterId } = cluster;
  const dueMs = nextRotationMs(keys, everySeconds, clusterId);
  if (dueMs === null || dueMs > nowMs) return false;
  if (!cluster.healthy || cluster.suspended || cluster.waits || cluster.rollingOut || cluster.breakerOpen) return false;
  return reported.some(({ number, works }) => number === keys.current.number && works === true);
}

/**
 * How many rotations a schedule may begin on a Git host now. `begunAtMs`: when those began that are under way there, in clusters that are
 * heard of; epoch milliseconds.
 */
export function roomForRotations(begunAtMs: readonly number[], nowMs: number): number {
  const usual = begunAtMs.filter((atMs) => nowMs - atMs < USUAL_MS).length;
  return Math.max(0, Math.min(AT_ONCE - usual, MAX_UNFINISHED - begunAtMs.length));
}

/** From 0 to 1, by the random digits that a cluster's id begins with. */
function placeOf(clusterId: string): number {
  return Number.parseInt(clusterId.slice(0, 8), 16) / 2 ** 32;
}
