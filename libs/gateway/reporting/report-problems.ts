import { MAX_LINK_PROBLEMS, NO_TENANT, registrationRpc, type LinkProblem } from '@fairlead/contracts';
import type { RpcClient } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import type { AgentSession, SessionRegistry } from '@fairlead/tunnel/gateway';
import { BatchReporter } from './batch-reporter.js';
import type { GatewayEvents } from './gateway-events.js';

/** An agent that is turned away again and again is one report in so long. */
const PAUSE_MS = 2_000;
/** Clusters whose last problem waits to be reported; the oldest give way. */
const MAX_WAITING = 2_000;

/** Tells registration what went wrong last with each cluster's link: the newest of each cluster. */
export class ProblemReporter {
  readonly #reporter: BatchReporter<LinkProblem>;

  constructor(rpc: RpcClient, logger: Logger, signal: AbortSignal) {
    this.#reporter = new BatchReporter({
      maxPending: MAX_WAITING,
      maxBatch: MAX_LINK_PROBLEMS,
      send: async (problems) => {
        await rpc.call(registrationRpc.reportLinkProblems, NO_TENANT, { troubles: problems });
      },
      onFailed: (problems, { message }) =>
        logger.debug('link_problems.not_reported', { count: problems.length, reason: message }),
      pauseMs: () => PAUSE_MS,
      signal,
    });
  }

  note({ clusterId, code, reason, address }: Omit<LinkProblem, 'at'>): void {
    this.#reporter.put(clusterId, {
      clusterId,
      at: new Date().toISOString(),
      code: code.slice(0, 64),
      reason: reason.slice(0, 256),
      address: address.slice(0, 64),
    });
  }
}

/** The same events; refusals of agents that proved which cluster they are of are reported as problems besides. */
export function reportRefusals(events: GatewayEvents, problems: ProblemReporter): GatewayEvents {
  return {
    ...events,
    accessRefused: (refusal) => {
      events.accessRefused(refusal);
      const { door, clusterId, code, reason, address } = refusal;
      if (door === 'link' && clusterId !== undefined) problems.note({ clusterId, code, reason, address });
    },
  };
}

/**
 * Links whose connection ended, unless it was this replica that ended them, or is about to stop, or their agent has another one here: it
 * closes what reaches a replica that it is linked to already, and what a better link takes the place of.
 */
export function reportLosses(sessions: SessionRegistry, problems: ProblemReporter): void {
  const endedHere = new WeakSet<AgentSession>();
  sessions.onChange((change, session) => {
    if (change === 'closed') {
      if (!session.http2.destroyed) endedHere.add(session);
      return;
    }
    session.http2.once('close', (cause) => {
      if (endedHere.has(session) || sessions.draining) return;
      const { clusterId, agentInstance, remoteAddress: address } = session.facts;
      if (sessions.everyOf(clusterId).some((other) => other !== session && other.facts.agentInstance === agentInstance))
        return;
      const reason = cause
        ? `the connection broke: ${cause.message}`
        : 'the connection was closed: by the agent, which stopped, or by something in between';
      problems.note({ clusterId, code: 'UNAVAILABLE', reason, address });
    });
  });
}
