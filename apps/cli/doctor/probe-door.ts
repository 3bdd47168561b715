import { request } from 'undici';
import { z } from 'zod';
import type { Cluster } from '../session/answers.js';
import type { Target } from '../session/api-client.js';
import { dispatcherFor } from '../session/dispatcher.js';
import { explainConnection } from '../session/explain-connection.js';
import { parseJson } from '../session/parse-json.js';
import { REMEDIES, failed, found, type Finding } from './finding.js';

const DEADLINE_MS = 15_000;
const MAX_BYTES = 65_536;

export interface Door {
  readonly name: string;
  readonly url: string;
}

/** Whom doors are asked as, and what to do where they do not take it. */
interface Asking extends Pick<Target, 'token' | 'certificateAuthority' | 'proxy'> {
  readonly logInAgain: string;
}

const Version = z.object({ gitVersion: z.string() });
/** Kubernetes' `meta/v1.Status`, with the causes that a gateway adds. */
const Status = z.object({
  message: z.string(),
  details: z.object({ causes: z.array(z.object({ reason: z.string(), message: z.string() })) }).optional(),
});

/** Asks the cluster's API server for its version through one door, as kubectl would. */
export async function probeDoor(cluster: Cluster, door: Door, target: Asking, nowMs: () => number): Promise<Finding> {
  const url = `${door.url.replace(/\/+$/, '')}/clusters/${cluster.name}/version`;
  const dispatcher = dispatcherFor(target);
  const beganMs = nowMs();
  try {
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const headers = { authorization: `Bearer ${target.token}`, accept: 'application/json' };
    const answer = await request(url, { dispatcher, headers, signal });
    const text = (await answer.body.text()).slice(0, MAX_BYTES);
    const tookMs = Math.round(nowMs() - beganMs);
    if (answer.statusCode !== 200) return judgeRefusal(cluster, door, target, answer.statusCode, text);
    const version = Version.safeParse(parseJson(text));
    if (version.success) return found('door', door.name, `Kubernetes ${version.data.gitVersion}, in ${tookMs} ms`);
    const remedy = `something else answers at ${door.url}: check FAIRLEAD_DOORS of the API`;
    return failed('door', door.name, 'it answered what no API server says', remedy);
  } catch (error) {
    const { message, details } = explainConnection(door.url, error);
    return failed('door', door.name, message, String(details?.['next'] ?? 'check the address of the door'));
  } finally {
    await dispatcher.destroy();
  }
}

function judgeRefusal(cluster: Cluster, { name }: Door, asking: Asking, status: number, text: string): Finding {
  const parsed = Status.safeParse(parseJson(text));
  if (!parsed.success) {
    return failed('door', name, `it answered ${status} and no Status`, 'check FAIRLEAD_DOORS of the API');
  }
  const { message, details } = parsed.data;
  const cause = (reason: string): string | undefined => details?.causes.find((each) => each.reason === reason)?.message;
  const code = cause('FairleadCode');
  if (code === 'UNAUTHENTICATED') return failed('door', name, message, asking.logInAgain);
  return failed('door', name, message, remedyFor(cluster, status, code, cause('FairleadHop')));
}

function remedyFor(cluster: Cluster, status: number, code: string | undefined, hop: string | undefined): string {
  switch (code) {
    case undefined:
      if (status === 401)
        return 'the API server does not take the agent’s service account: apply the import manifest whole';
      return 'RBAC of that cluster does not allow it: look at the ClusterRoleBinding fairlead-admins there';
    case 'NOT_FOUND':
      return 'this replica does not know the cluster yet: is it connected to NATS? see its /readyz';
    case 'AGENT_OFFLINE':
    case 'AGENT_RECONNECTING':
    case 'NO_SESSION':
      return whereNobodyIsLinked(cluster);
    case 'TARGET_UNREACHABLE':
      return `the agent cannot reach its API server; ${REMEDIES.askAgent(cluster)}`;
    case 'DRAINING':
      return 'this replica is stopping; try again';
    default:
      return hop === 'agent'
        ? REMEDIES.askAgent(cluster)
        : `look at the log of this replica, for cluster ${cluster.name} and the code ${code}`;
  }
}

/** Names what is printed before: of a cluster that nobody enrolled in, nothing is said about presence. */
function whereNobodyIsLinked({ enrolledAt }: Cluster): string {
  if (enrolledAt === null) return 'no agent has enrolled yet: do what it says under enrolment, above';
  return 'see presence, above; if the cluster is online, this replica cannot reach the one that is linked: docs/runbooks/cluster-offline.md';
}
