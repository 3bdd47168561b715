import { agentText, lastErrorText } from '../output/cluster-view.js';
import type { Cluster } from '../session/answers.js';
import { REMEDIES, failed, found, warned, type Finding, type KnownFacts } from './finding.js';

/** A rollout of the agent is over by then. */
const ROLLOUT_MS = 180_000;
/** A loss so short ago is worth a word though it is mended. */
const LATELY_MS = 600_000;

/** Is its agent linked, to as many replicas as it should be, once, and not too old? */
export function judgeLinks(facts: KnownFacts): Finding[] {
  const { enrolledAt, presence } = facts.cluster;
  if (enrolledAt === null) return [];
  const findings = [judgePresence(facts)];
  if (presence.agents.length === 0) return findings;
  return [...findings, judgeReplicas(facts), ...judgeAgents(facts), ...judgeVersion(facts)];
}

function judgePresence({ cluster, nowMs }: KnownFacts): Finding {
  const { name, presence } = cluster;
  const { state, since, replicas, lastError } = presence;
  const last = lastError === null ? '' : `; last error ${lastErrorText(lastError)}`;
  if (state === 'offline') {
    const detail = `offline${since === null ? '' : ` since ${since}`}${last}`;
    return failed('presence', name, detail, remedyOf(lastError?.code ?? '', cluster));
  }
  const where = `${state} since ${since ?? 'an unknown time'}, at ${replicas.join(' and ')}`;
  if (state === 'draining') {
    return warned('presence', name, where, 'every replica that it is linked to is stopping: look at the gateways');
  }
  const lately = lastError !== null && nowMs - Date.parse(lastError.at) < LATELY_MS;
  if (!lately) return found('presence', name, where);
  return warned('presence', name, `${where}${last}`, 'if it happens again and again: docs/runbooks/cluster-offline.md');
}

/** What to do about an agent that is away, by what it was told last. */
function remedyOf(code: string, cluster: Cluster): string {
  const { name } = cluster;
  switch (code) {
    case 'CERTIFICATE_REVOKED':
      return `it was cut off; to bring it back: ${REMEDIES.newManifest(name)}`;
    case 'CERTIFICATE_REFUSED':
    case 'WRONG_CLUSTER':
    case 'UNAUTHENTICATED':
    case 'TOKEN_EXPIRED':
    case 'TOKEN_REVOKED':
      return `if that is the right agent, it needs a new identity: ${REMEDIES.newManifest(name)}`;
    case 'TOKEN_USED':
      return `somebody else enrolled as this cluster, or its identity was emptied: look at fairlead token list ${name}; then ${REMEDIES.newManifest(name)}`;
    case 'ENROLMENT_REJECTED':
      return `the policy or an administrator rejected it: fairlead policy show --cluster ${name}, fairlead request list --state all`;
    case 'VERSION_UNSUPPORTED':
      return `update the agent: ${REMEDIES.newManifest(name)}`;
    default:
      return REMEDIES.askAgent(cluster);
  }
}

function judgeReplicas({ cluster }: KnownFacts): Finding {
  const { name, links, presence } = cluster;
  // 0: an API of before, that does not say.
  const there = presence.liveReplicas === 0 ? links : Math.max(presence.liveReplicas, presence.replicas.length);
  const desired = Math.min(links, there);
  const detail = `linked to ${presence.replicas.length} of ${there} replicas${desired < there ? `, of which it wants ${desired}` : ''}`;
  if (presence.replicas.length >= desired) return found('links', name, detail);
  const remedy = `a replica is down, or the agent cannot reach it: it must reach every address in FAIRLEAD_ENDPOINTS; ${REMEDIES.askAgent(cluster)}`;
  return warned('links', name, detail, remedy);
}

function judgeAgents({ cluster: { name, presence }, nowMs }: KnownFacts): Finding[] {
  const { agents, duplicate } = presence;
  if (duplicate === null) return [];
  const detail = `${agents.length} processes have its identity: ${agents.map(agentText).join(', ')}`;
  const newestMs = Math.max(...agents.map(({ since }) => Date.parse(since)));
  if (nowMs - newestMs < ROLLOUT_MS) {
    return [warned('agents', name, detail, 'if its agent is being updated, wait three minutes and look again')];
  }
  const remedy = `stop the one that you do not know; if you know neither, somebody has its key: fairlead cluster revoke ${name} --reason TEXT`;
  return [failed('agents', name, detail, remedy)];
}

function judgeVersion({ cluster: { name, presence }, ownVersion }: KnownFacts): Finding[] {
  const versions = [...new Set(presence.agents.map(({ version }) => version).filter((version) => version !== ''))];
  return versions.map((version) => {
    const apart = minorsApart(version, ownVersion);
    if (apart === 0) return found('version', name, `the agent is ${version}`);
    const detail = `the agent is ${version}, and this command ${ownVersion}`;
    if (apart === 1) return found('version', name, `${detail}: one apart is well`);
    const remedy = `update whichever is older; the agent: ${REMEDIES.newManifest(name)}`;
    return warned('version', name, `${detail}: only one minor version apart is sure to work`, remedy);
  });
}

/** Null if one of them is not a version. Another major version is far. */
function minorsApart(one: string, other: string): number | null {
  const [a, b] = [one, other].map((text) => /^v?(\d+)\.(\d+)\./.exec(text));
  if (!a || !b) return one === other ? 0 : null;
  return a[1] === b[1] ? Math.abs(Number(a[2]) - Number(b[2])) : Number.POSITIVE_INFINITY;
}
