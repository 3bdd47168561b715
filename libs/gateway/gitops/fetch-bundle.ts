import { Buckets, type Rate } from '@fairlead/clock';
import { gitopsRpc } from '@fairlead/contracts';
import { BundleLimits } from '@fairlead/desired-state';
import { FairleadError, toFairleadError } from '@fairlead/errors';
import type { Http2Session } from '@fairlead/http2';
import type { RpcClient } from '@fairlead/messaging';
import type { FetchBundleRequest } from '@fairlead/proto';
import type { SessionRegistry } from '@fairlead/tunnel/gateway';
import type { GatewayMetrics } from '../gateway-metrics.js';
import { peerOf, requireAgent } from '../link/link-peer.js';

export interface FetchBundleOptions {
  readonly rpc: RpcClient;
  readonly registry: SessionRegistry;
  readonly metrics: Pick<GatewayMetrics, 'bundlePieces'>;
}

/** Of one cluster: the largest bundle is six pieces, and somebody may have to begin anew. */
const PIECES: Rate = { burst: 12, perSecond: 1 };
/** Of a replica, at once: each is held here twice, as it came and as it goes. */
const MAX_IN_FLIGHT = 16;

export interface BundleCalls {
  readonly perCluster: Buckets;
  inFlight: number;
}

export function bundleLimits(): BundleCalls {
  return { perCluster: new Buckets(PIECES, 20_000), inFlight: 0 };
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
) {
  const { clusterId } = requireAgent(peerOf(http2));
  const session = http2 && options.registry.byHttp2(http2);
  if (!session) throw new FairleadError('UNAUTHENTICATED', 'say Hello on the Control call first');
  if (!/^[0-9a-f]{64}$/.test(digest) || offset >= BundleLimits.maxCompressedBytes) {
    throw new FairleadError('INVALID_ARGUMENT', 'expected a SHA-256 in hexadecimal, and an offset within a bundle');
  }
  if (calls.inFlight >= MAX_IN_FLIGHT || !calls.perCluster.take(clusterId, performance.now())) {
    options.metrics.bundlePieces.inc({ outcome: 'RATE_LIMITED' });
    throw new FairleadError('RATE_LIMITED', 'too many pieces of bundles are asked for; wait a moment');
  }
  calls.inFlight += 1;
  try {
    const input = { clusterId, digest, offset };
    const { piece, compressedBytes } = await options.rpc.call(gitopsRpc.bundleChunk, session.facts.tenantId, input);
    options.metrics.bundlePieces.inc({ outcome: 'ok' });
    return { piece: new Uint8Array(Buffer.from(piece, 'base64')), compressedBytes };
  } catch (error) {
    options.metrics.bundlePieces.inc({ outcome: toFairleadError(error).code });
    throw error;
  } finally {
    calls.inFlight -= 1;
  }
}
