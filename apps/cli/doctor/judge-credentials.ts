import type { CertificateRecord, Cluster } from '../session/answers.js';
import { REMEDIES, failed, found, warned, type Finding, type KnownFacts } from './finding.js';

const RECOVERY_DAYS = 30;
const DAY_MS = 86_400_000;
/** Agents renew at two thirds of a certificate's life; so far on, it does not work. */
const OVERDUE = 0.8;

/** Did an agent get an identity, could one still, and is what it has worth something? */
export function judgeCredentials(facts: KnownFacts): Finding[] {
  const findings = [judgeEnrolment(facts)];
  if (facts.cluster.enrolledAt === null) return findings;
  return [...findings, ...judgeTokens(facts), ...judgeQueue(facts), ...judgeCertificate(facts)];
}

function judgeEnrolment(facts: KnownFacts): Finding {
  const { name, generation, enrolledAt } = facts.cluster;
  if (enrolledAt !== null) return found('enrolment', name, `enrolment ${generation}, since ${enrolledAt}`);
  const { detail, remedy } = whyNotEnrolled(facts);
  return failed('enrolment', name, `no agent has enrolled: ${detail}`, remedy);
}

/** The nearest step that is missing. */
function whyNotEnrolled({ cluster, tokens, waiting, policy, nowMs }: KnownFacts): { detail: string; remedy: string } {
  const { name, presence } = cluster;
  const own = waiting?.find((request) => request.cluster === name);
  if (own) {
    const detail = `one from ${own.remoteAddress} waits for a decision, with the key ${own.fingerprint}`;
    return { detail, remedy: `compare the key with the agent’s log, then: fairlead request approve ${own.id}` };
  }
  if (policy === 'always-reject') {
    const remedy = `fairlead identity issue ${name} --out FILE, or let agents ask: fairlead policy set token --cluster ${name}`;
    return { detail: 'its policy rejects every one that asks', remedy };
  }
  const unknown = waiting?.find((request) => request.cluster === null);
  if (unknown) {
    const detail = `${waiting?.length ?? 0} wait that showed no token`;
    return { detail, remedy: `if it is one of them: fairlead request approve ${unknown.id} --cluster ${name}` };
  }
  const refused = presence.lastError;
  if (refused) {
    const detail = `one from ${refused.address} was refused at ${refused.at}: ${refused.code}, ${refused.reason}`;
    return { detail, remedy: REMEDIES.newManifest(name) };
  }
  const unused = tokens?.find(({ state }) => state === 'unused');
  if (unused) {
    const minutes = Math.max(0, Math.round((Date.parse(unused.expiresAt) - nowMs) / 60_000));
    const detail = `a token was handed out and nobody came with it; it is good for ${minutes} more minutes`;
    return { detail, remedy: `apply the manifest; if that was done, ${REMEDIES.askAgent(cluster)}` };
  }
  if (tokens?.some(({ state }) => state === 'expired')) {
    return { detail: 'the token in its manifest expired unused', remedy: REMEDIES.newManifest(name) };
  }
  return { detail: 'it was not imported yet', remedy: REMEDIES.newManifest(name) };
}

function judgeTokens({ cluster: { name }, tokens }: KnownFacts): Finding[] {
  if (!tokens) return [];
  const unused = tokens.filter(({ state }) => state === 'unused');
  if (unused.length === 0) return [found('token', name, 'no token is left that somebody could use')];
  return unused.map(({ id, expiresAt }) =>
    warned(
      'token',
      id,
      `it is unused, and good until ${expiresAt}: whoever comes with it replaces the agent`,
      `fairlead token revoke ${name} ${id}, unless its manifest is still to be applied; an agent that has its identity needs none`,
    ),
  );
}

function judgeQueue({ cluster: { name }, waiting }: KnownFacts): Finding[] {
  const own = waiting?.filter((request) => request.cluster === name) ?? [];
  return own.map(({ id, fingerprint, remoteAddress }) =>
    warned(
      'queue',
      id,
      `an agent from ${remoteAddress} waits for a decision, with the key ${fingerprint}`,
      `fairlead request approve ${id}, which replaces the agent; or: fairlead request reject ${id} --reason TEXT`,
    ),
  );
}

function judgeCertificate({ cluster, certificates, nowMs }: KnownFacts): Finding[] {
  const { name, generation } = cluster;
  if (!certificates) return [];
  const newest = certificates
    .filter((each) => each.purpose === 'agent' && each.generation === generation)
    .reduce<CertificateRecord | undefined>((a, b) => (a && a.notBefore >= b.notBefore ? a : b), undefined);
  const again = REMEDIES.newManifest(name);
  if (!newest) return [failed('certificate', name, `enrolment ${generation} has none: it was not fetched`, again)];
  const { serial, revokedAt, revokedFor, notAfter } = newest;
  if (revokedAt !== null) {
    return [failed('certificate', serial, `revoked at ${revokedAt}: ${revokedFor ?? 'no reason is known'}`, again)];
  }
  const endMs = Date.parse(notAfter);
  if (endMs < nowMs) return [judgeEnded(cluster, serial, nowMs - endMs, notAfter)];
  if (isOverdue(newest, nowMs)) {
    const detail = `it ends at ${notAfter} and should have been renewed`;
    return [warned('certificate', serial, detail, 'look for agent.renewal.failed in the log of the agent')];
  }
  return [found('certificate', serial, `valid until ${notAfter}`)];
}

function judgeEnded(cluster: Cluster, serial: string, agoMs: number, notAfter: string): Finding {
  const again = REMEDIES.newManifest(cluster.name);
  const days = Math.floor(agoMs / DAY_MS);
  if (days >= RECOVERY_DAYS) {
    return failed('certificate', serial, `it ended at ${notAfter}, ${days} days ago: too long to be renewed`, again);
  }
  const remedy = `start the agent, which renews it by itself; ${REMEDIES.askAgent(cluster)}`;
  return failed('certificate', serial, `it ended at ${notAfter}: the agent was away when it was to be renewed`, remedy);
}

function isOverdue({ notBefore, notAfter }: CertificateRecord, nowMs: number): boolean {
  const [beginMs, endMs] = [Date.parse(notBefore), Date.parse(notAfter)];
  return nowMs > beginMs + (endMs - beginMs) * OVERDUE;
}
