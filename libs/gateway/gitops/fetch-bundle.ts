import { gitopsRpc } from '@fairlead/contracts';
import { BundleLimits } from '@fairlead/desired-state';
import { FairleadError, toFairleadError } from '@fairlead/errors';
import type { Http2Session, Http2Stream } from '@fairlead/http2';
import { KeyedRateLimit, ConcurrencyLimit, type Rate } from '@fairlead/limits';
import type { RpcClient } from '@fairlead/messaging';
import type { FetchBundleRequest } from '@fairlead/proto';
import type { SessionRegistry } from '@fairlead/tunnel/gateway';
import type { GatewayMetrics } from '../status/gateway-metrics.js';
import { peerOf, requireAgent } from '../link/link-peer.js';

export interface FetchBundleOptions {
  readonly rpc: RpcClient;
  readonly registry: SessionRegistry;
  readonly metrics: Pick<GatewayMetrics, 'bundlePieces'>;
}

/** Of one cluster: the largest bundle is six pieces, and somebody may have to begin anew. */
const PIECES: Rate = { burst: 12, perSecond: 1 };

export interface BundleCalls {
  readonly rates: KeyedRateLimit;
  readonly slots: PieceLimit;
}

export function bundleLimits(): BundleCalls {
  return { rates: new KeyedRateLimit(PIECES, 20_000), slots: new PieceLimit() };
}

/**
 * A piece of the bundle that this cluster's desired state names; which that is, `gitops` knows. UNAUTHENTICATED or
 * CERTIFICATE_REFUSED unless it comes on an agent's link; INVALID_ARGUMENT, NOT_FOUND; RATE_LIMITED; UNAVAILABLE without `gitops`.
 */
export async function fetchBundle(
  options: FetchBundleOptions,
  calls: BundleCalls,
  { digest, offset }: FetchBundleRequest,
  http2: Http2Session | undefined,
  stream: Http2Stream | undefined,
) {
  const { clusterId } = requireAgent(peerOf(http2));
  const session = http2 && options.registry.byHttp2(http2);
  if (!session) throw new FairleadError('UNAUTHENTICATED', 'say Hello on the Control call first');
  if (!/^[0-9a-f]{64}$/.test(digest) || offset >= BundleLimits.maxCompressedBytes) {
    throw new FairleadError('INVALID_ARGUMENT', 'expected a SHA-256 in hexadecimal, and an offset within a bundle');
  }
  const giveBack = calls.slots.take(session.facts.tenantId, clusterId);
  if (!giveBack || !calls.rates.take(clusterId, performance.now())) {
    giveBack?.();
    options.metrics.bundlePieces.inc({ outcome: 'RATE_LIMITED' });
    throw new FairleadError('RATE_LIMITED', 'too many pieces of bundles are asked for; wait a moment');
  }
  try {
    const input = { clusterId, digest, offset };
    const { piece, compressedBytes } = await options.rpc.call(gitopsRpc.bundleChunk, session.facts.tenantId, input);
    options.metrics.bundlePieces.inc({ outcome: 'ok' });
    return { piece: new Uint8Array(Buffer.from(piece, 'base64')), compressedBytes };
  } catch (error) {
    options.metrics.bundlePieces.inc({ outcome: toFairleadError(error).code });
    throw error;
  } finally {
    // Not now: an answer that nobody takes stands in memory for as long as its stream does.
    if (stream) stream.onceClosed(giveBack);
    else giveBack();
  }
}

const SLOTS = 64;

/**
 * Slots for pieces of bundles that an agent has not taken yet: each is held here twice, as it came and as it goes. A cluster has two, as its
 * agent fetches one after the other and may leave one behind on a link that broke; and the clusters of one tenant together have half of a
 * replica's.
 */
export class PieceLimit {
  readonly #ofClusters = new ConcurrencyLimit({ total: SLOTS, perKey: 2 });
  readonly #ofTenants = new ConcurrencyLimit({ total: SLOTS, perKey: SLOTS / 2 });

  /** What gives the slot back, which counts once; null if there is none left for this cluster. */
  take(tenantId: string, clusterId: string): (() => void) | null {
    const leaveTenant = this.#ofTenants.take(tenantId);
    const leaveCluster = leaveTenant && this.#ofClusters.take(clusterId);
    if (!leaveCluster) leaveTenant?.();
    return leaveCluster && (() => [leaveCluster, leaveTenant].forEach((leave) => leave()));
  }
}
