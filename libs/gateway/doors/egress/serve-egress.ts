import type { Socket } from 'node:net';
import type { ClusterEntry } from '@fairlead/contracts';
import { FairleadError, messageOf, toFairleadError } from '@fairlead/errors';
import type { Http2Stream } from '@fairlead/http2';
import type { Open } from '@fairlead/proto';
import { TcpTargets, type Resolve, type TcpTarget } from '@fairlead/tcp-targets';
import { LIMITS, readTraceparent } from '@fairlead/tunnel/core';
import type { AgentSession } from '@fairlead/tunnel/gateway';
import { TunnelConnection, acceptGrpcStream, bridge, dialFor, type BridgedBytes } from '@fairlead/tunnel/link';
import type { Directory } from '../../directory.js';
import { DEFAULT_DOOR_LIMITS, type DoorLimits } from '../../limits/door-limiter.js';
import { peerOf, requireAgent } from '../../link/link-peer.js';
import { DoorPassages, type PassageOptions } from '../../passage/door-passages.js';
import type { Ending, Identity } from '../../passage/outcome.js';
import type { Arrival, Passage } from '../../passage/passage.js';
import { EgressPolicies, type EgressRule } from './egress-rules.js';
import { toldToCluster, whyRefused } from './refusals.js';
import { tunnelIdOf } from './tunnel-id.js';

export interface EgressOptions extends PassageOptions {
  readonly rules: readonly EgressRule[];
  readonly limits?: Partial<DoorLimits> | undefined;
  readonly resolve?: Resolve;
  readonly directory: Directory;
}

/** A cluster fetches Git, one connection at a time for each repository: what is more is no catalog. */
export const DEFAULT_EGRESS_LIMITS: DoorLimits = {
  ...DEFAULT_DOOR_LIMITS,
  waitingPerIdentity: 32,
  perIdentity: { connections: 128, opensPerSecond: 10, heldBytes: 64 * 1024 ** 2 },
};

/**
 * Names that one cluster has resolved: one at a time, as a slow one takes a thread from all clusters; a fetch of each repository now and
 * then. Who asks again at once for one that is not there costs nothing.
 */
const LOOKUPS = { perAsker: { atOnce: 1, waiting: 16, rate: { burst: 40, perSecond: 2 } }, failureMs: 5_000 };

/** One connection out of a cluster: whose link it came by, and what its agent asks for. */
interface Requested {
  readonly session: AgentSession;
  readonly connection: TunnelConnection;
  readonly open: Open;
}

/** Whom it is for, and where to. */
interface Admission {
  readonly cluster: ClusterEntry;
  readonly target: TcpTarget;
}

/**
 * The door out of clusters: raw TCP to what the rules of this replica allow, and nothing else. Which cluster asks
 * is told by the certificate of its link. The connection ends with the link.
 */
export class Egress {
  readonly #options: EgressOptions;
  readonly #policies: EgressPolicies;
  readonly #passages: DoorPassages;
  readonly #targets: TcpTargets;

  constructor(options: EgressOptions) {
    const { rules, limits, resolve } = options;
    this.#options = options;
    this.#policies = new EgressPolicies(rules);
    this.#passages = new DoorPassages('egress', { ...DEFAULT_EGRESS_LIMITS, ...limits }, options);
    const refusedBy = 'by the egress rules of the control plane: FAIRLEAD_EGRESS_ALLOW of its gateways';
    this.#targets = new TcpTargets({ rules: [], refusedBy, lookups: LOOKUPS, ...(resolve ? { resolve } : {}) });
  }

  /** Serves one Egress call, from its beginning to its end. Never throws. */
  serve(session: AgentSession, stream: Http2Stream): void {
    if (stream.closed) return;
    acceptGrpcStream(stream);
    const connection = new TunnelConnection(stream, 'acceptor');
    const onLate = (): void => {
      connection.destroy(new FairleadError('DEADLINE_EXCEEDED', 'no Open came in time'));
    };
    const timer = setTimeout(onLate, LIMITS.openTimeoutMs).unref();
    connection.once('close', () => clearTimeout(timer));
    connection.once('open', (open: Open) => {
      clearTimeout(timer);
      this.#pass({ session, connection, open }).catch((error: unknown) => {
        // A fault of ours: it costs this connection, never the process with everybody else's.
        this.#options.logger.error('egress.broken', { reason: messageOf(error), err: error });
        connection.destroy(toFairleadError(error));
      });
    });
  }

  async #pass(requested: Requested): Promise<void> {
    const { connection, session } = requested;
    const uncount = session.countEgress();
    let admission: Admission | undefined;
    try {
      await this.#passages.pass(
        arrivalOf(requested),
        async (passage) => {
          connection.once('close', () => passage.peerLeft());
          passage.identify(identityOf(session));
          // First: a refusal is work, too, and whose it is the certificate of the link has told.
          passage.limit();
          admission = this.#admit(requested, passage);
          const { cluster, target } = admission;
          await passage.letGo();
          const policy = this.#policies.of(cluster);
          const dial = (gone: AbortSignal) => this.#targets.connect(target, gone, policy, cluster.clusterId);
          return this.#carry(requested, passage, admission, await dialFor(connection, dial));
        },
        (_passage, { failure }) => this.#refuse(connection, failure, admission),
      );
    } finally {
      uncount();
    }
  }

  /** Who asks, and for what. WRONG_CLUSTER, CERTIFICATE_REFUSED, INVALID_ARGUMENT. */
  #admit({ session, open }: Requested, passage: Passage): Admission {
    if (open.clusterId !== session.facts.clusterId) {
      throw new FairleadError('WRONG_CLUSTER', 'the Open names another cluster than the certificate of its link');
    }
    if (open.target.case !== 'tcp') {
      throw new FairleadError('INVALID_ARGUMENT', 'only raw TCP goes out of a cluster');
    }
    const { host, port } = open.target.value;
    const target = { host: host.slice(0, 260), port };
    passage.ask({ target });
    const cluster = this.#options.directory.clusterById(open.clusterId);
    if (!cluster) throw new FairleadError('CERTIFICATE_REFUSED', 'the cluster of this link was deleted');
    passage.admit(cluster);
    return { cluster, target };
  }

  async #carry(
    { connection }: Requested,
    passage: Passage,
    { cluster, target }: Admission,
    socket: Socket,
  ): Promise<Ending> {
    const dialled = socket.remoteAddress ?? '';
    passage.opened({ dialled });
    passage.connected();
    connection.accept();
    const bytes: BridgedBytes = { toTunnel: 0, fromTunnel: 0 };
    passage.register({
      bytes: () => ({ up: bytes.toTunnel, down: bytes.fromTunnel }),
      heldBytes: () => connection.heldBytes + socket.readableLength + socket.writableLength,
      refusedNow: () => whyRefused(this.#options.directory, this.#policies, cluster.clusterId, { ...target, dialled }),
      end: (cause) => void connection.destroy(cause),
    });
    const { cause } = await bridge(socket, connection, () => void socket.resetAndDestroy(), bytes);
    return { kind: 'carried', cause, endedBy: passage.endedBy };
  }

  #refuse(connection: TunnelConnection, failure: FairleadError, admission: Admission | undefined): void {
    if (connection.destroyed) return;
    // A fault of ours after Opened can only break it off.
    if (connection.state.phase !== 'opening') connection.destroy(failure);
    else if (!admission) connection.refuse(failure);
    else connection.refuse(toldToCluster(failure, admission.target, this.#policies.of(admission.cluster)));
  }
}

function arrivalOf({ session, open }: Requested): Arrival {
  const { sessionId, remoteAddress } = session.facts;
  const tunnelId = tunnelIdOf(open.tunnelId);
  return {
    address: remoteAddress,
    asked: { method: 'EGRESS' },
    caller: readTraceparent([open.traceparent]),
    span: { name: 'egress' },
    way: { tunnelId, via: 'own', sessionId },
  };
}

function identityOf({ facts, http2 }: AgentSession): Identity {
  const { clusterId, tenantId } = facts;
  const { certificate } = requireAgent(peerOf(http2));
  return {
    kind: 'agent',
    id: clusterId,
    name: clusterId,
    tenantId,
    proof: { kind: 'certificate', id: certificate.serial },
  };
}
