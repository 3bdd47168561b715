import { fullJitterMs } from '@fairlead/clock';
import type { DesiredState } from '@fairlead/desired-state';
import { messageOf } from '@fairlead/errors';
import { clustersToSign, updateIfUntouched, type StoredCluster } from '../store/cluster-store.js';
import { eachApart } from './one-by-one.js';
import type { KeysPort } from './keys-port.js';
import { commit, read, type Runtime } from './runtime.js';

/** Signatures are renewed well before they end, and often enough to follow a rotation of the root. */
const SIGN_AGAIN_MS = 6 * 3_600_000;
/** Hours are left by then. */
const RETRY_MS = 10_000;

/** What is stored of a desired state that was signed. */
export interface SignedState {
  readonly revision: number;
  readonly removed: StoredCluster['removed'];
  readonly revisedAt: Date;
  readonly signed: NonNullable<StoredCluster['signed']>;
  readonly signAgainAt: Date;
}

export async function signState(runtime: Runtime, keys: KeysPort, state: DesiredState): Promise<SignedState> {
  const document = Buffer.from(JSON.stringify(state));
  const signature = await sign(runtime, keys, state.tenantId, document);
  return { revision: state.revision, removed: state.remove, revisedAt: runtime.now(), ...signature };
}

/**
 * The same revisions with newer signatures, where they are due. Returns how many were. One that `keys` refuses is tried again later: it
 * must keep no other cluster from what is desired of it.
 */
export async function signAgain(runtime: Runtime, keys: KeysPort, atOnce: number): Promise<number> {
  const due = await read(runtime, (manager) => clustersToSign(manager, runtime.now(), atOnce));
  const renew = async (cluster: StoredCluster): Promise<void> => {
    if (!cluster.signed) return;
    const document = Buffer.from(cluster.signed.document, 'base64');
    const signature = await sign(runtime, keys, cluster.tenantId, document);
    await commit(runtime, (manager) => updateIfUntouched(manager, cluster, signature));
  };
  await eachApart(due, renew, async (cluster, error) => {
    runtime.onFailed?.('signature');
    runtime.logger.log('warn', 'desired_state.not_signed_again', { clusterId: cluster.id, reason: messageOf(error) });
    const signAgainAt = new Date(
      runtime.now().getTime() + RETRY_MS + fullJitterMs(0, { baseMs: RETRY_MS, capMs: RETRY_MS }),
    );
    await commit(runtime, (manager) => updateIfUntouched(manager, cluster, { signAgainAt }));
  });
  if (due.length > 0) runtime.onDesired();
  return due.length;
}

async function sign(
  runtime: Runtime,
  keys: KeysPort,
  tenantId: string,
  statement: Buffer,
): Promise<Pick<SignedState, 'signed' | 'signAgainAt'>> {
  const { document, signerChain, signature, notAfter } = await keys.signDesiredState(tenantId, statement);
  const nowMs = runtime.now().getTime();
  const lifeMs = Date.parse(notAfter) - nowMs;
  const signAgainAt = new Date(nowMs + Math.max(Math.min(lifeMs / 2, SIGN_AGAIN_MS), 1_000));
  return { signed: { document, signerChain, signature }, signAgainAt };
}
