import { isDeepStrictEqual } from 'node:util';
import { createHash } from 'node:crypto';
import { VERIFIED_BY, type Assignment } from '@fairlead/contracts';
import { CatalogSource } from '@fairlead/desired-state';
import { FairleadError } from '@fairlead/errors';
import { pathOf } from './compute-spec.js';

/** Of one, as JSON: what it makes of a cluster has to fit into a desired state. */
const MAX_BYTES = 24_000;

/** TOO_LARGE; INVALID_ARGUMENT for what no cluster could be brought to. `before`: what it says so far. */
export function checkAssignment(spec: Assignment, before: Assignment | undefined): void {
  if (Buffer.byteLength(JSON.stringify(spec)) > MAX_BYTES) {
    throw new FairleadError('TOO_LARGE', `an assignment has at most ${MAX_BYTES} bytes`);
  }
  checkPath(spec);
  checkVerification(spec, before);
}

function checkPath({ path }: Assignment): void {
  const longest = 'x'.repeat(63);
  if (CatalogSource.shape.path.safeParse(pathOf(path, longest)).success) return;
  throw new FairleadError('INVALID_ARGUMENT', 'the path is not one below the root of a repository');
}

/** What was taken before it was refused may stay while something else is changed. */
function checkVerification({ tool, verification }: Assignment, before: Assignment | undefined): void {
  if (!verification || VERIFIED_BY[tool].includes(verification.type)) return;
  if (before?.tool === tool && isDeepStrictEqual(before.verification, verification)) return;
  const message = `${tool} verifies no SSH signatures, so that its clusters would follow nothing: sign commits with OpenPGP keys and name those`;
  throw new FairleadError('INVALID_ARGUMENT', message);
}

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
