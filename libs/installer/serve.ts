import type { DesiredState, GitOpsSpec, Phase, PreflightReport, PublicKey } from '@fairlead/desired-state';
import { messageOf } from '@fairlead/errors';
import { chooseBundle, type ChosenBundle } from './bundle/choose-bundle.js';
import type { SourceStates, ToolDriver } from './drivers/driver.js';
import { deployKeys, type DeployKey } from './keys/deploy-keys.js';
import { neededHosts } from './preflight/needed-hosts.js';
import type { Told } from './report/make-report.js';
import type { OwnObjects } from './state/own-objects.js';
import { attemptOf, type ToolKeeperParts } from './task.js';
import { tend, type Standing } from './tool-keeper.js';
import { Problem } from './problem.js';

/** Of what is told about the repository, in the history. */
const CATALOG_SUBJECT = 'catalog';

/** One observation of a cluster that shall have a tool: its keys, the tool, and what the tool says of its repository. */
export async function serve(
  parts: ToolKeeperParts,
  own: OwnObjects,
  driver: ToolDriver,
  desired: DesiredState & { gitops: GitOpsSpec },
  signal: AbortSignal,
): Promise<Told> {
  const spec = desired.gitops;
  const keys = await deployKeys(own, spec.deployKey);
  const objection = driver.objection(spec);
  const allowed = { ...desired, gitops: objection ? followingNothingNew(spec) : spec };
  const { chosen, missing } = await chooseBundle(parts.shelf, parts.keeper.held, spec);
  const observeHosts = hostObservation(parts, spec, chosen, signal);
  // It begins before anything is applied, and nothing waits for it.
  observeHosts(true);
  const standing = chosen && (await tend(parts, driver, allowed, chosen, keys, signal));
  const states = await driver.read(parts.objects, new Date(parts.clock.nowMs()).toISOString());
  const waits = objection ?? missing ?? unreadyKey(spec);
  const rolledBack = chosen?.runs === 'rolled-back';
  // A tool that is frozen in part says of the repository what it cannot know.
  const works = standing !== null && standing.finding === null;
  const complaint = works && !allowed.gitops.suspend && spec.source !== null ? states.complaint : null;
  tellComplaint(parts.history, complaint, states);
  if (works && !allowed.gitops.suspend) await tryAgain(parts, driver);
  const phase = phaseOf(standing, rolledBack, waits !== null);
  return {
    phase,
    problem:
      objection ??
      missing ??
      standing?.finding ??
      (rolledBack ? ROLLED_BACK : (waits ?? standing?.conflict ?? complaint)),
    // One that is here and cannot be used is not asked for again.
    wantedBundle: missing && missing.code !== 'BUNDLE_UNREADABLE' ? spec.bundle.digest : null,
    publicKeys: keys.map((key) => told(key, spec, states)),
    source: states.source,
    sync: states.sync,
    preflight: observeHosts(phase === 'healthy'),
  };
}

/** What keeps it from that must not keep the report from being written. */
async function tryAgain({ objects, clock, history }: ToolKeeperParts, driver: ToolDriver): Promise<void> {
  await driver.tryAgain(objects, clock.nowMs()).catch((error: unknown) => {
    history.recordOnce('observed', CATALOG_SUBJECT, `a commit cannot be tried again: ${messageOf(error)}`);
  });
}

/** Looks at the hosts that this spec needs, where it is due, and says what is known of them. */
function hostObservation(
  { preflight }: ToolKeeperParts,
  spec: GitOpsSpec,
  chosen: ChosenBundle | null,
  signal: AbortSignal,
): (healthy: boolean) => PreflightReport | null {
  const hosts = preflight ? neededHosts(chosen?.objects ?? [], spec) : [];
  return (healthy) => preflight?.observe(hosts, { spec: attemptOf(spec), healthy }, signal) ?? null;
}

const ROLLED_BACK = {
  code: 'BUNDLE_ROLLED_BACK',
  message: 'the wanted bundle did not become healthy: the last good one runs',
};

/** Once when it stops following the repository, and once when it follows it again. */
function tellComplaint(history: ToolKeeperParts['history'], complaint: Problem | null, { source }: SourceStates): void {
  if (complaint) history.recordOnce('observed', CATALOG_SUBJECT, `${complaint.code}: ${complaint.message}`);
  else if (source?.ready === true) history.recordOnce('observed', CATALOG_SUBJECT, 'the repository is followed');
}

/**
 * What cannot be verified as demanded is not followed: what was fetched before stays, and nothing new comes. It stays demanded: others
 * may follow the same repository by what the tool was told of it. Neither does the next deploy
 * key fetch, since what it tries would lie unverified in the cluster.
 */
export function followingNothingNew(spec: GitOpsSpec): GitOpsSpec {
  return {
    ...spec,
    suspend: true,
    deployKey: { ...spec.deployKey, nextReady: false },
  };
}

function phaseOf(standing: Standing | null, rolledBack: boolean, waits: boolean): Phase {
  if (!standing) return 'waiting';
  if (standing.status !== 'healthy') return standing.status;
  if (rolledBack) return 'degraded';
  return waits ? 'waiting' : 'healthy';
}

function unreadyKey({ source, deployKey }: GitOpsSpec): Problem | null {
  if (source === null || deployKey.currentReady) return null;
  return new Problem('DEPLOY_KEY_NOT_READY', 'the Git host does not have the key of this cluster yet');
}

function told({ number, publicKey }: DeployKey, { deployKey }: GitOpsSpec, states: SourceStates): PublicKey {
  const works = number === deployKey.current ? states.currentWorks : states.nextWorks;
  return { number, publicKey, works };
}
