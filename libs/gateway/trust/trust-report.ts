import type { Clock } from '@fairlead/clock';
import { NO_TENANT, keysRpc } from '@fairlead/contracts';
import type { RpcClient } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import { BatchReporter } from '../reporting/batch-reporter.js';
import { create } from '@bufbuild/protobuf';
import { SignedTrustSchema } from '@fairlead/proto';
import type { AgentSession, SessionRegistry } from '@fairlead/tunnel/gateway';
import { tellInTurn } from '../sessions/tell-sessions.js';
import type { TrustStore } from './trust-store.js';

interface Held {
  readonly clusterId: string;
  readonly version: number;
}

/** Tells `keys` which clusters' agents hold the trust bundle: each cluster and version once, many at a time. */
export class TrustReport {
  readonly #reporter: BatchReporter<Held>;
  /** Clusters whose agent was reported to hold the version that counts. */
  readonly #reported = new Set<string>();
  #version = 0;

  constructor(rpc: RpcClient, logger: Logger, signal: AbortSignal, clock?: Clock) {
    this.#reporter = new BatchReporter({
      // One that gave way is reported when its agent links again.
      maxPending: 20_000,
      maxBatch: 500,
      send: async (held) => {
        await rpc.call(keysRpc.acknowledgeTrust, NO_TENANT, { held });
        logger.info('trust.reported', { version: held[0]?.version, clusters: held.length });
        for (const { clusterId, version } of held) if (version === this.#version) this.#reported.add(clusterId);
      },
      onFailed: (held, { code, message }) =>
        logger.warn('trust.report.failed', {
          version: held[0]?.version,
          clusters: held.length,
          code,
          reason: message,
        }),
      signal,
      ...(clock ? { clock } : {}),
    });
  }

  /** The cluster's agent holds this version, and will after a restart. What it held before is of no interest any more. */
  held(clusterId: string, version: number): void {
    if (version < this.#version || version === 0) return;
    if (version > this.#version) {
      this.#version = version;
      this.#reporter.clear();
      this.#reported.clear();
    }
    if (!this.#reported.has(clusterId)) this.#reporter.put(clusterId, { clusterId, version });
  }
}

/** What the link server hears from agents of the bundle that they hold. */
export type OnTrustHeld = (session: AgentSession, version: number) => void;

/**
 * Tells each agent that holds an older trust bundle than this replica the newer one, once on each link, and reports those that
 * hold it. An agent speaks for the cluster of its certificate, and only of the version that is held here.
 */
export function tellTrust(trust: TrustStore, sessions: SessionRegistry, report: TrustReport): OnTrustHeld {
  const tellLater = tellInTurn(sessions, (session) => {
    const { held } = trust;
    if (!held || session.trustVersion >= held.version) return;
    session.tell({ case: 'trust', value: create(SignedTrustSchema, wireTrust(held.signed)) });
  });
  const look = (session: AgentSession): void => {
    if (session.trustVersion === trust.version) report.held(session.facts.clusterId, trust.version);
    if (session.trustVersion < trust.version) tellLater(session);
  };
  trust.onChange(() => {
    for (const session of sessions.all()) look(session);
  });
  sessions.onChange((change, session) => {
    if (change === 'opened') look(session);
  });
  return (session, version) => {
    if (version !== trust.version) return;
    session.trustVersion = version;
    look(session);
  };
}

/** As a message of the link has it. */
export function wireTrust({ bundle, signerChainPem, signature }: NonNullable<TrustStore['held']>['signed']) {
  return { bundle, signerChainPem: [...signerChainPem], signature };
}
