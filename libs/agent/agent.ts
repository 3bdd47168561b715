import { randomUUID } from 'node:crypto';
import { SignedTime } from '@fairlead/access-statement/signed-time';
import { fullJitterMs, systemClock } from '@fairlead/clock';
import { toFairleadError, type ErrorCode } from '@fairlead/errors';
import { Registry, noTracer, type Check } from '@fairlead/observability';
import { TcpTargets } from '@fairlead/tcp-targets';
import type { Link } from '@fairlead/tunnel/agent';
import type { AgentIdentity } from './agent-identity.js';
import { listenForEgress } from './egress/egress-listener.js';
import type { AgentOptions } from './agent-options.js';
import { enrolWithToken } from './enrol-with-token.js';
import { GitOpsCarrier } from './gitops/gitops-carrier.js';
import { whileLeading } from './gitops/leader.js';
import { KubeApiProxy } from './kube-api-proxy.js';
import { isOwn } from './own-cluster.js';
import { Replacement } from './replacement.js';
import { LinkSupervisor } from './supervisor.js';
import { createAgentMetrics, meterIdentity, meterLinks } from './agent-metrics.js';

export interface Agent {
  readiness(): readonly Check[];
  /** Resolves when the signal has ended it. */
  readonly done: Promise<void>;
}

const RETRY = { baseMs: 500, capMs: 30_000 };
/** Refusals that no repetition changes: try again rarely, so that a mended token is noticed in the end. */
const PERMANENT: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'TOKEN_MALFORMED',
  'TOKEN_UNKNOWN',
  'TOKEN_EXPIRED',
  'TOKEN_USED',
  'TOKEN_REVOKED',
  'UNAUTHENTICATED',
  'UNTRUSTED_PEER',
  'CSR_INVALID',
  'CERTIFICATE_REVOKED',
  'ENROLMENT_REJECTED',
]);
const PERMANENT_RETRY_MS = 120_000;
const REFUSED_BY = "by the policy of the cluster's agent; allow it with: fairlead cluster create --allow-target";
/** How often an agent asks that an administrator has to decide about. */
const PENDING_RETRY_MS = 30_000;

/**
 * Enrols if need be, then keeps its links. An identity that no gateway accepts any more (its cluster was deleted, or it is
 * of another installation) is replaced as soon as there is a bootstrap token newer than the one it came from; until then
 * it is kept and tried, slowly.
 */
export function runAgent(options: AgentOptions, signal: AbortSignal): Agent {
  const registry = options.registry ?? new Registry();
  const metrics = createAgentMetrics(registry);
  const { logger, tracer = noTracer } = options;
  const onFailed = (code: ErrorCode): void => metrics.kubeRequestsFailed.inc({ code });
  const time = new SignedTime(() => systemClock.nowMs());
  const kubeApi = new KubeApiProxy(options.kubeApi, logger, onFailed, tracer, time);
  const tcp = {
    targets: new TcpTargets({ ...(options.tcp ?? { rules: [] }), refusedBy: REFUSED_BY }),
    metrics,
    logger,
    tracer,
  };
  let supervisor: LinkSupervisor | null = null;
  const over = endedAfter(signal, () => supervisor?.leave(options.drainMs ?? 0));
  meterLinks(registry, () => supervisor?.figures ?? { links: 0, parked: 0, inUse: 0 });
  meterIdentity(registry, () => supervisor?.certificateEndMs);
  let waitingFor = 'the stored identity';
  const live = async (): Promise<void> => {
    using stack = new DisposableStack();
    if (options.egress) {
      const links = (): readonly Link[] => supervisor?.egressLinks ?? [];
      const listener = stack.use(await listenForEgress({ ...options.egress, links, metrics, logger, tracer }));
      options.egress.onListening?.(listener.ports);
    }
    let identity = await obtainIdentity(options, signal, (what) => (waitingFor = what));
    while (identity && !signal.aborted) {
      options.onIdentity?.(identity);
      const replacement = new Replacement(options, identity, signal);
      const onRefused = (): void => replacement.consider();
      const gitops = options.handover && new GitOpsCarrier({ ...options.handover, identity, logger });
      supervisor = new LinkSupervisor({ ...options, kubeApi, tcp, gitops, identity, time, onRefused });
      const until = AbortSignal.any([over, replacement.found]);
      // Another pod carries from now on, though something may run here for a while.
      const stayed = AbortSignal.any([until, signal]);
      await Promise.all([supervisor.run(until), gitops && carry(gitops, options, stayed)]);
      identity = replacement.identity;
    }
  };
  return {
    readiness: () => supervisor?.readiness() ?? [{ name: 'enrolment', ok: false, detail: `waiting for ${waitingFor}` }],
    done: live().finally(() => kubeApi.close()),
  };
}

/** Aborted once what is left to do after the signal is done. */
function endedAfter(signal: AbortSignal, leave: () => Promise<void> | undefined): AbortSignal {
  const ended = new AbortController();
  const end = async (): Promise<void> => {
    await leave();
    ended.abort(signal.reason);
  };
  if (signal.aborted) ended.abort(signal.reason);
  else signal.addEventListener('abort', () => void end(), { once: true });
  return ended.signal;
}

/** One of the agent's pods carries desired state; the others are told of it, and take its place. */
function carry(gitops: GitOpsCarrier, { handover, logger }: AgentOptions, signal: AbortSignal): Promise<void> {
  const lease = handover?.lease;
  if (!lease) return gitops.run(signal);
  const options = { lease, holder: randomUUID(), clock: systemClock, logger };
  return whileLeading(options, (leading) => gitops.run(leading), signal);
}

async function obtainIdentity(
  options: AgentOptions,
  signal: AbortSignal,
  waitFor: (what: string) => void,
): Promise<AgentIdentity | null> {
  const { store, logger } = options;
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    try {
      const { identity } = await store.load();
      if (identity && isOwn(identity, options.clusterId)) return identity;
      waitFor('enrolment');
      return await enrolWithToken(options, attempt, signal, identity);
    } catch (error) {
      const failure = toFairleadError(error);
      waitFor(`${failure.code}: ${failure.message}`);
      if (failure.code === 'ENROLMENT_PENDING') {
        logger.info('agent.enrolment.waiting', { attempt, reason: failure.message });
        await systemClock.sleep(PENDING_RETRY_MS * (0.5 + Math.random()), signal).catch(() => undefined);
        continue;
      }
      const permanent = PERMANENT.has(failure.code);
      logger.log(permanent ? 'error' : 'warn', 'agent.enrolment.failed', {
        attempt,
        code: failure.code,
        reason: failure.message,
      });
      const waitMs = permanent ? PERMANENT_RETRY_MS * (0.5 + Math.random()) : fullJitterMs(attempt, RETRY);
      await systemClock.sleep(waitMs, signal).catch(() => undefined);
    }
  }
  return null;
}
