import { createHash } from 'node:crypto';
import type { Assignment } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';

/** Names what an assignment says: the same for the same, in whatever order the database keeps its fields. */
export function revisionOf(spec: Assignment): string {
  return createHash('sha256').update(JSON.stringify(spec, sorted)).digest('hex').slice(0, 32);
}

/** REVISION_CONFLICT unless `held` is what whoever asks expects; `expected` null: that there is none; undefined: anything. */
export function expectRevision(name: string, held: Assignment | undefined, expected: string | null | undefined): void {
  if (expected === undefined || expected === (held ? revisionOf(held) : null)) return;
  throw new FairleadError(
    'REVISION_CONFLICT',
    `somebody ${whatHappened(held, expected)} the assignment ${name} meanwhile`,
  );
}

function whatHappened(held: Assignment | undefined, expected: string | null): string {
  if (!held) return 'removed';
  return expected === null ? 'made' : 'changed';
}

function sorted(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
