import { FairleadError } from '@fairlead/errors';
import { openStatement, signStatement, type SignedStatement, type TrustSigner } from '@fairlead/pki';
import { DesiredState, MAX_DESIRED_STATE_BYTES } from './desired-state.js';

/** JSON of a `DesiredState`, signed by the keys service. */
export type SignedDesiredState = SignedStatement;

const CONTEXT = 'fairlead desired state v1';

/** Signs with a key whose certificate says `service/keys`. Throws INVALID_ARGUMENT for one that is too large. */
export async function signDesiredState(state: DesiredState, signer: TrustSigner): Promise<SignedDesiredState> {
  const document = new Uint8Array(Buffer.from(JSON.stringify(DesiredState.parse(state))));
  if (document.length > MAX_DESIRED_STATE_BYTES) {
    throw new FairleadError('INVALID_ARGUMENT', `the desired state is larger than ${MAX_DESIRED_STATE_BYTES} bytes`);
  }
  return signStatement(CONTEXT, document, signer);
}

/**
 * The desired state that the keys service signed, by a chain that ends in one of these roots. Throws CERTIFICATE_REFUSED for another
 * signer, signature, cluster or contents. Revisions are the caller's to compare.
 */
export async function openDesiredState(
  signed: SignedDesiredState,
  held: {
    readonly rootsPem: readonly string[];
    readonly trustDomain: string;
    readonly clusterId: string;
    readonly at: Date;
  },
): Promise<DesiredState> {
  if (signed.document.length > MAX_DESIRED_STATE_BYTES) throw refused('it is too large');
  await openStatement(CONTEXT, signed, held);
  const state = DesiredState.safeParse(readJson(signed.document));
  if (!state.success) throw refused('it cannot be read', state.error);
  if (state.data.clusterId !== held.clusterId) throw refused('it is meant for another cluster');
  return state.data;
}

function readJson(document: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(document).toString('utf8'));
  } catch (cause) {
    throw refused('it is not JSON', cause);
  }
}

function refused(why: string, cause?: unknown): FairleadError {
  return new FairleadError('CERTIFICATE_REFUSED', `the desired state is refused: ${why}`, { cause });
}
