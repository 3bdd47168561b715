import { askKube } from '@fairlead/kube/ask-kube';
import { reviewRight, type ReviewedRight } from '../facts/review-right.js';
import type { KubeApiTarget } from '../kube-api-proxy.js';
import { found, missed, type Finding } from './finding.js';

/** A right that the agent has a use for. */
export interface Right extends ReviewedRight {
  /** What goes without it, for one that the agent works without. Absent: it needs this one. */
  readonly without?: string;
}

const TIMEOUT_MS = 10_000;
/** Tokens and certificates stop working beyond some minutes. */
const MAX_SKEW_MS = 60_000;
const APPLY_AGAIN = 'apply the import manifest whole: it brings the rights';

/** Is the API server of this cluster there, does it know the agent, and may the agent do what its work needs? */
export async function* checkKubernetes(
  api: KubeApiTarget,
  rights: readonly Right[],
  nowMs: () => number,
): AsyncGenerator<Finding> {
  const where = `${api.host}:${api.port}`;
  let date: string | undefined;
  try {
    const asked = await askKube(api, { method: 'GET', path: '/version', signal: AbortSignal.timeout(TIMEOUT_MS) });
    const { status } = asked;
    date = asked.date;
    if (status !== 200) {
      yield missed(
        'kubernetes',
        where,
        `it answered ${status}`,
        'is the service account token mounted, and of this cluster?',
      );
      return;
    }
    yield found('kubernetes', where, 'it answers, and knows this service account');
  } catch (error) {
    yield missed(
      'kubernetes',
      where,
      error,
      'allow TCP from the agent’s pod to the API server; check ca.crt of the service account',
    );
    return;
  }
  yield checkSkew(where, date, nowMs());
  for (const right of rights) yield await checkRight(api, right);
}

function checkSkew(where: string, date: string | undefined, nowMs: number): Finding {
  const serverMs = Date.parse(date ?? '');
  if (Number.isNaN(serverMs)) return found('clock', where, 'it did not say what time it is');
  const skewMs = Math.abs(nowMs - serverMs);
  if (skewMs <= MAX_SKEW_MS) return found('clock', where, 'agrees with this node’s');
  const detail = `this node’s clock differs from the API server’s by ${Math.round(skewMs / 1_000)} s`;
  return missed('clock', where, detail, 'set the node’s clock by NTP');
}

async function checkRight(api: KubeApiTarget, right: Right): Promise<Finding> {
  const { verb, resource, name, namespace } = right;
  const what = `${verb} ${resource}${name === undefined ? '' : `/${name}`}${namespace === undefined ? '' : ` in ${namespace}`}`;
  try {
    if (await reviewRight(api, right, AbortSignal.timeout(TIMEOUT_MS))) return found('rights', what, 'allowed');
    if (right.without === undefined) return missed('rights', what, 'the API server does not allow it', APPLY_AGAIN);
    return found('rights', what, `not allowed: ${right.without}; to change that, ${APPLY_AGAIN}`);
  } catch (error) {
    return missed('rights', what, error, APPLY_AGAIN);
  }
}
