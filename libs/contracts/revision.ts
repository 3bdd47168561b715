import { createHash } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';
import { z } from 'zod';

/** Names what is said of a thing: another one after each change, and the same for the same. Empty: the service is older than revisions. */
export const Revision = z.string().max(64);

/** Of a request to change something: what it has to be at present, else REVISION_CONFLICT; null: it must not be there; undefined: whatever it is. */
export const ifRevision = { ifRevision: Revision.nullable().optional() };

/** What whoever asks for a change has seen. */
export interface Expecting {
  readonly ifRevision?: string | null | undefined;
}

/** SHA-256 of what is said, in hex and cut to 32; in whatever order a database keeps its fields. */
export function revisionOf(said: object): string {
  return createHash('sha256').update(JSON.stringify(said, sorted)).digest('hex').slice(0, 32);
}

/** REVISION_CONFLICT unless the revision that is held (null: there is none) is what whoever asks expects. `what`: `the cluster shop`. */
export function expectRevision(what: string, held: string | null, expected: string | null | undefined): void {
  if (expected === undefined || expected === held) return;
  throw new FairleadError('REVISION_CONFLICT', `somebody ${whatHappened(held, expected)} ${what} meanwhile`);
}

function whatHappened(held: string | null, expected: string | null): string {
  if (held === null) return 'removed';
  return expected === null ? 'made' : 'changed';
}

function sorted(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
