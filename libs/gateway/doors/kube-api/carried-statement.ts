import type { StatementVerifier } from '@fairlead/access-statement';
import { FairleadError } from '@fairlead/errors';
import type { RawHeaders } from '@fairlead/kube-http';
import type { Admission } from './authorize.js';
import { bearerOf } from './bearer.js';

/** A statement that a request brought, to be passed on to the agent as it is. */
export interface CarriedStatement {
  readonly envelope: Uint8Array;
  readonly digest: string;
}

/**
 * The statement beside the secret of a request that was let in, looked at here so that its sender hears of it at once; the agent does not take our word.
 * Undefined: there is none. Throws STATEMENT_EXPIRED, and STATEMENT_REFUSED for one of another token or cluster.
 */
export async function carriedStatement(
  verifier: StatementVerifier,
  rawHeaders: RawHeaders,
  { principal, cluster }: Pick<Admission, 'principal' | 'cluster'>,
): Promise<CarriedStatement | undefined> {
  const envelope = bearerOf(rawHeaders)?.statement;
  if (!envelope) return undefined;
  const { statement, digest } = await verifier.open(envelope, cluster);
  if (statement.tokenId !== principal.tokenId || statement.user !== principal.user) {
    throw new FairleadError(
      'STATEMENT_REFUSED',
      'the access statement is of another token than the one it was sent with',
    );
  }
  return { envelope, digest };
}
