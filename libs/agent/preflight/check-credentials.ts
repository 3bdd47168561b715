import { X509Certificate } from 'node:crypto';
import { parseToken, spkiPin } from '@fairlead/pki';
import type { AgentIdentity, IdentityStore } from '../agent-identity.js';
import { BECOME_OWN, isOwn, mayLeave, whyNotOwn } from '../own-cluster.js';
import { found, missed, type Finding } from './finding.js';

export interface CredentialCheckOptions {
  readonly store: IdentityStore;
  /** Which cluster the manifest is of; absent: it does not say. */
  readonly clusterId?: string | undefined;
  readonly token: string | null;
  readonly adoption: boolean;
  /** Root pins of the manifest. */
  readonly pins: readonly string[];
  readonly nowMs: number;
}

const NEW_MANIFEST = 'fetch and apply a new manifest: fairlead cluster import <name> | kubectl apply -f -';
const RECOVERY_DAYS = 30;

/** What this agent would show: the identity it keeps, else the token it was given. A token is not spent by it. */
export async function checkCredentials(options: CredentialCheckOptions): Promise<Finding[]> {
  const stored = await options.store.load().then(
    ({ identity }) => identity,
    (error: unknown) =>
      missed('identity', 'stored identity', error, 'restore it, or empty it and apply a new manifest'),
  );
  if (stored && 'check' in stored) return [stored];
  if (!stored) return [checkToken(options)];
  if (!isOwn(stored, options.clusterId)) return [checkForeign(options, stored)];
  const certificate = new X509Certificate(stored.chainPem[0] ?? '');
  const endMs = Date.parse(certificate.validTo);
  const what = `cluster ${stored.clusterId}, enrolment ${stored.generation}`;
  if (endMs >= options.nowMs) return [found('identity', what, `valid until ${new Date(endMs).toISOString()}`)];
  const days = Math.floor((options.nowMs - endMs) / 86_400_000);
  const ended = `ended on ${new Date(endMs).toISOString()}`;
  if (days < RECOVERY_DAYS) return [found('identity', what, `${ended}; the agent renews it when it starts`)];
  return [missed('identity', what, `${ended}, ${days} days ago: too long to be renewed`, NEW_MANIFEST)];
}

/** A token that it did not come from makes the agent the manifest's cluster when it starts. */
function checkForeign(options: CredentialCheckOptions, stored: AgentIdentity): Finding {
  const { token, adoption } = options;
  if (token !== null || adoption) {
    const finding = checkToken(options);
    if (!finding.ok || mayLeave(stored, token, adoption)) return finding;
  }
  return missed('identity', `cluster ${stored.clusterId}`, whyNotOwn(stored, options.clusterId), BECOME_OWN);
}

/** Pins of the roots that a stored identity trusts by now, whatever its manifest said; none without one. */
export async function heldPins(store: IdentityStore): Promise<string[]> {
  // One that cannot be read is a finding of `checkCredentials`.
  const stored = await store.load().catch(() => null);
  return stored?.identity?.rootsPem.map(spkiPin) ?? [];
}

function checkToken({ token, adoption, pins }: CredentialCheckOptions): Finding {
  if (token === null && adoption) {
    if (pins.length > 0) return found('token', 'adoption', 'none is needed: the agent waits for an administrator');
    return missed('token', 'adoption', 'an agent without a token needs root pins', 'set FAIRLEAD_ROOT_PINS');
  }
  if (token === null)
    return missed('token', 'bootstrap token', 'there is neither an identity nor a token', NEW_MANIFEST);
  try {
    const { id, pin } = parseToken(token);
    if (pins.length === 0 || pins.includes(pin)) {
      return found('token', `token ${id}`, 'well-formed; whether it is spent or expired shows when the agent enrols');
    }
    return missed('token', `token ${id}`, 'its pin is not among the root pins: two manifests were mixed', NEW_MANIFEST);
  } catch (error) {
    return missed('token', 'bootstrap token', error, NEW_MANIFEST);
  }
}
