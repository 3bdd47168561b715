import { MAX_TROUBLES, NO_TENANT, registrationRpc, type LinkProblem } from '@fairlead/contracts';
import { messageOf } from '@fairlead/errors';
import type { RpcClient } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import type { AgentSession, SessionRegistry } from '@fairlead/tunnel/gateway';
import type { GatewayEvents } from './gateway-events.js';

/** An agent that is turned away again and again is one report in so long. */
const PAUSE_MS = 2_000;
/** Clusters whose last trouble waits to be reported; the oldest give way. */
const MAX_WAITING = 2_000;

export type Trouble = Omit<LinkProblem, 'at'>;

/**
 * Tells registration what went wrong last with each cluster's link: once every two seconds at most, the newest of each
 * cluster, and later if registration is away. It never blocks and never throws.
 */
export class TroubleReporter {
  readonly #rpc: RpcClient;
  readonly #logger: Logger;
  readonly #waiting = new Map<string, LinkProblem>();
  #scheduled = false;

  constructor(rpc: RpcClient, logger: Logger) {
    this.#rpc = rpc;
    this.#logger = logger;
  }

  note({ clusterId, code, reason, address }: Trouble): void {
    this.#keep({
      clusterId,
      at: new Date().toISOString(),
      code: code.slice(0, 64),
      reason: reason.slice(0, 256),
      address: address.slice(0, 64),
    });
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setTimeout(() => void this.#report(), PAUSE_MS).unref();
  }

  #keep(trouble: LinkProblem): void {
    this.#waiting.delete(trouble.clusterId);
    this.#waiting.set(trouble.clusterId, trouble);
    const oldest = this.#waiting.keys().next().value;
    if (this.#waiting.size > MAX_WAITING && oldest !== undefined) this.#waiting.delete(oldest);
  }

  async #report(): Promise<void> {
    const troubles = [...this.#waiting.values()].slice(0, MAX_TROUBLES);
    for (const { clusterId } of troubles) this.#waiting.delete(clusterId);
    try {
      await this.#rpc.call(registrationRpc.reportTroubles, NO_TENANT, { troubles });
    } catch (error) {
      this.#logger.debug('troubles.not_reported', { count: troubles.length, reason: messageOf(error) });
      for (const trouble of troubles) if (!this.#waiting.has(trouble.clusterId)) this.#keep(trouble);
    }
    this.#scheduled = false;
    if (this.#waiting.size > 0) this.#schedule();
  }
}

/** The same events; refusals of agents that proved which cluster they are of are reported as troubles besides. */
export function reportRefusals(events: GatewayEvents, troubles: TroubleReporter): GatewayEvents {
  return {
    agentConnected: (session) => events.agentConnected(session),
    agentDisconnected: (session) => events.agentDisconnected(session),
    accessRefused: (refusal) => {
      events.accessRefused(refusal);
      const { door, clusterId, code, reason, address } = refusal;
      if (door === 'link' && clusterId !== undefined) troubles.note({ clusterId, code, reason, address });
    },
  };
}

/** Links whose connection ended, unless it was this replica that ended them, or is about to stop. */
export function reportLosses(sessions: SessionRegistry, troubles: TroubleReporter): void {
  const endedHere = new WeakSet<AgentSession>();
  sessions.onChange((change, session) => {
    if (change === 'closed') {
      if (!session.http2.destroyed) endedHere.add(session);
      return;
    }
    session.http2.once('close', (cause) => {
      if (endedHere.has(session) || sessions.draining) return;
      const { clusterId, remoteAddress: address } = session.facts;
      const reason = cause
        ? `the connection broke: ${cause.message}`
        : 'the connection was closed: by the agent, which stopped, or by something in between';
      troubles.note({ clusterId, code: 'UNAVAILABLE', reason, address });
    });
  });
}
