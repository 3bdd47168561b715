import { fullJitterMs, systemClock } from '@fairlead/clock';
import { FairleadError, toFairleadError, type ErrorCode } from '@fairlead/errors';
import { Registry, type Check, type Logger } from '@fairlead/observability';
import type { AgentIdentity, IdentityStore } from './agent-identity.js';
import { enrol, type AgentFacts } from './enrol.js';
import type { Endpoint, ProxySettings } from './forward-proxy.js';
import { KubeApiProxy, type KubeApiTarget } from './kube-api-proxy.js';
import { LinkSupervisor } from './supervisor.js';
import { createAgentMetrics } from './agent-metrics.js';
import { TcpTargets, type TcpTargetOptions } from './tcp-targets.js';

export interface AgentOptions {
  readonly endpoints: readonly Endpoint[];
  readonly proxy: ProxySettings;
  readonly pins: readonly string[];
  readonly links: number;
  readonly store: IdentityStore;
  /** The bootstrap token, or null if none was given. Read only while there is no identity. */
  token(): Promise<string | null>;
  readonly kubeApi: KubeApiTarget;
  /** What it opens for raw TCP; absent: nothing. */
  readonly tcp?: TcpTargetOptions;
  /** Where its metrics go; absent: nowhere. */
  readonly registry?: Registry;
  readonly facts: AgentFacts;
  readonly logger: Logger;
}

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
]);
const PERMANENT_RETRY_MS = 120_000;

/** Enrols if need be, then keeps its links. */
export function runAgent(options: AgentOptions, signal: AbortSignal): Agent {
  const kubeApi = new KubeApiProxy(options.kubeApi, options.logger);
  const tcp = {
    targets: new TcpTargets(options.tcp ?? { rules: [] }),
    metrics: createAgentMetrics(options.registry ?? new Registry()),
    logger: options.logger,
  };
  let supervisor: LinkSupervisor | null = null;
  let waitingFor = 'the stored identity';
  const live = async (): Promise<void> => {
    const identity = await obtainIdentity(options, signal, (what) => (waitingFor = what));
    if (!identity) return;
    supervisor = new LinkSupervisor({ ...options, kubeApi, tcp, identity });
    await supervisor.run(signal);
  };
  return {
    readiness: () => supervisor?.readiness() ?? [{ name: 'enrolment', ok: false, detail: `waiting for ${waitingFor}` }],
    done: live().finally(() => kubeApi.close()),
  };
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
      if (identity) return identity;
      waitFor('enrolment');
      return await enrolOnce(options, attempt, signal);
    } catch (error) {
      const failure = toFairleadError(error);
      const permanent = PERMANENT.has(failure.code);
      waitFor(`${failure.code}: ${failure.message}`);
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

async function enrolOnce(options: AgentOptions, attempt: number, signal: AbortSignal): Promise<AgentIdentity> {
  const token = await options.token();
  if (token === null) {
    throw new FairleadError(
      'UNAUTHENTICATED',
      'there is neither an identity nor a bootstrap token; import the cluster again: fairlead cluster import <name>',
    );
  }
  // Each try takes the next endpoint, so that one dead replica does not hold up an enrolment.
  const endpoint = options.endpoints[attempt % options.endpoints.length] as Endpoint;
  return enrol({ ...options, endpoint, token, signal });
}
