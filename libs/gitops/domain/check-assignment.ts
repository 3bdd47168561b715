import { isDeepStrictEqual } from 'node:util';
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
