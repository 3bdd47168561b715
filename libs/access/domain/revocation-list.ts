import {
  MAX_LOCKED,
  MAX_REQUIRED,
  MAX_REVOCATIONS_BYTES,
  MAX_REVOKED,
  type StatementRevocations,
} from '@fairlead/access-statement';
import type { Revoked } from './revoked.js';

const ALL = 'all';

/** The list of a tenant, but for what is revoked and locked. */
export interface ListState {
  readonly tenantId: string;
  readonly number: number;
  /** Everybody's statements up to then, but the administrator's; null: nobody's. */
  readonly floor: Date | null;
  /** Clusters that take nobody without a statement, or `all`. */
  readonly required: readonly string[];
}

export interface Contents extends ListState {
  /** Those of administrators, then the latest first. */
  readonly revoked: readonly Revoked[];
  /** Clusters that are locked down, the latest first; null among them: all. More than `MAX_LOCKED` are locked at gateways alone. */
  readonly locked: readonly (string | null)[];
  readonly now: Date;
}

/** A list that fits in an envelope. `raisedTo`: the oldest had no room, and everybody's statements up to then end instead; null: all had. */
export interface FittingList {
  readonly list: StatementRevocations;
  readonly raisedTo: Date | null;
}

/** The list of a tenant. What has no room is not left out: the floor rises over it, and who is honest fetches a new statement. */
export function revocationList(contents: Contents): FittingList {
  const { revoked } = contents;
  let fitting = Math.min(revoked.length, MAX_REVOKED);
  for (;;) {
    const raisedTo = revoked[fitting]?.before ?? null;
    const list = listOf(contents, revoked.slice(0, fitting), raisedTo);
    if (fitting === 0 || Buffer.byteLength(JSON.stringify(list)) <= MAX_REVOCATIONS_BYTES) return { list, raisedTo };
    fitting = Math.floor(fitting * 0.9);
  }
}

/**
 * Those that require statements, or all of them where they are too many to be named; then as many as there is room for of those that were named before and are
 * `missing` now. Those that were named before come first, as their agents insist on it by now. What has no room goes by its manifest.
 */
export function requiredClusters(
  clusters: readonly { readonly clusterId: string; readonly requireStatements?: boolean | undefined }[],
  before: readonly string[] = [],
): string[] {
  const required = clusters.filter(({ requireStatements }) => requireStatements).map(({ clusterId }) => clusterId);
  if (required.length > MAX_REQUIRED && required.length === clusters.length) return [ALL];
  const there = new Set(clusters.map(({ clusterId }) => clusterId));
  const missing = before.filter((clusterId) => !there.has(clusterId) && clusterId !== ALL);
  const named = new Set(before);
  const [old, added] = [required.filter((each) => named.has(each)), required.filter((each) => !named.has(each))];
  return [...old.toSorted(), ...added.toSorted(), ...missing].slice(0, MAX_REQUIRED);
}

function listOf(
  { tenantId, number, floor, locked, required, now }: Contents,
  revoked: readonly Revoked[],
  raisedTo: Date | null,
): StatementRevocations {
  const floorMs = Math.max(floor?.getTime() ?? 0, raisedTo?.getTime() ?? 0);
  const clusters = locked.filter((clusterId) => clusterId !== null);
  return {
    version: 1,
    tenantId,
    number,
    issuedAt: now.toISOString(),
    floor: floorMs === 0 ? null : new Date(floorMs).toISOString(),
    revoked: revoked.map(({ kind, value, before }) => ({ kind, value, before: before.toISOString() })),
    locked: clusters.length < locked.length ? 'all' : clusters.slice(0, MAX_LOCKED),
    required: required.includes(ALL) ? 'all' : [...required],
  };
}
