import { isDeepStrictEqual } from 'node:util';
import { openDesiredState, type DesiredState, type Handover } from '@fairlead/desired-state';
import { messageOf } from '@fairlead/errors';
import { openTrust, spkiPin, type SignedStatement } from '@fairlead/pki';
import type { HighWater } from '../state/high-water.js';
import { Problem } from '../problem.js';

/** What an installer was installed with. */
export interface Installed {
  readonly clusterId: string;
  readonly trustDomain: string;
  /** SHA-256 of the public keys of roots that count before a trust bundle was verified. */
  readonly pins: readonly string[];
  /** What a second record says of an installer that was here before, if there is one. */
  readonly highWater?: HighWater | null;
}

/** What it holds of earlier handovers. */
export interface Trusted {
  readonly trustVersion: number;
  readonly rootsPem: readonly string[];
  readonly desired: DesiredState | null;
}

export interface Accepted extends Trusted {
  /** Why some of it does not count. What is held stays. */
  readonly refused: readonly Problem[];
}

/**
 * Judges a handover: roots count by pin until a trust bundle was verified, then only by signed trust bundles from those that are held;
 * desired state counts if the keys service signed it for this cluster, and it is not older than what is held. Whoever wrote the
 * ConfigMap can therefore at most withhold something. Codes: ROOTS_NOT_PINNED, TRUST_REFUSED, STATE_REFUSED,
 * STATE_OF_ANOTHER_CLUSTER, STATE_OLDER, STATE_AMBIGUOUS.
 */
export async function acceptHandover(
  held: Trusted,
  handover: Handover,
  installed: Installed,
  at: Date,
): Promise<Accepted> {
  const refused: Problem[] = [];
  const roots = await judged(refused, held, () => rootsOf(held, handover, installed, at));
  const known = { ...held, trustVersion: roots.trustVersion, rootsPem: roots.rootsPem };
  const { desired } = await judged(refused, known, async () => ({
    ...known,
    desired: await stateOf(known, handover, installed, at),
  }));
  return { ...known, desired, refused };
}

async function judged(refused: Problem[], held: Trusted, judge: () => Promise<Trusted>): Promise<Trusted> {
  try {
    return await judge();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    refused.push(error);
    return held;
  }
}

async function rootsOf(held: Trusted, handover: Handover, installed: Installed, at: Date): Promise<Trusted> {
  const rootsPem = held.trustVersion > 0 ? held.rootsPem : pinned(handover.roots, pinsOf(installed));
  if (rootsPem.length === 0) {
    if (handover.roots.length === 0 && handover.desiredState === null) return held;
    throw new Problem(
      'ROOTS_NOT_PINNED',
      'none of the roots that were handed over has a key that this installer was given',
    );
  }
  const known = { ...held, rootsPem };
  if (!handover.trust) return known;
  const { document: bundle, ...rest } = statement(handover.trust);
  try {
    const { trustDomain, highWater } = installed;
    const version = Math.max(held.trustVersion, highWater?.trustVersion ?? 0);
    const trust = await openTrust({ bundle, ...rest }, { rootsPem, trustDomain, at });
    return trust.version > held.trustVersion && trust.version >= version
      ? { ...held, trustVersion: trust.version, rootsPem: trust.rootsPem }
      : known;
  } catch (cause) {
    // Roots that are pinned count all the same, until there is a bundle that can be verified.
    if (held.trustVersion === 0) return known;
    throw new Problem('TRUST_REFUSED', messageOf(cause), { cause });
  }
}

/** Roots that were retired while we were here do not count again because we have forgotten it. */
function pinsOf({ pins, highWater }: Installed): readonly string[] {
  return highWater && highWater.trustVersion > 0 ? highWater.pins : pins;
}

function pinned(roots: readonly string[], pins: readonly string[]): string[] {
  return roots.filter((pem) => {
    try {
      return pins.includes(spkiPin(pem));
    } catch {
      // No certificate: it is as good as one that is not pinned.
      return false;
    }
  });
}

async function stateOf(
  held: Trusted,
  { desiredState }: Handover,
  { clusterId, trustDomain, highWater }: Installed,
  at: Date,
): Promise<DesiredState | null> {
  if (!desiredState || held.rootsPem.length === 0) return held.desired;
  const signed = statement(desiredState);
  if (held.desired && isSame(signed.document, held.desired)) return held.desired;
  let state: DesiredState;
  try {
    state = await openDesiredState(signed, { rootsPem: held.rootsPem, trustDomain, clusterId, at });
  } catch (cause) {
    const code = isOfAnother(signed.document, clusterId) ? 'STATE_OF_ANOTHER_CLUSTER' : 'STATE_REFUSED';
    throw new Problem(code, messageOf(cause), { cause });
  }
  const newest = Math.max(held.desired?.revision ?? 0, highWater?.revision ?? 0);
  if (state.revision < newest) {
    throw new Problem('STATE_OLDER', `revision ${state.revision} was handed over, ${newest} was here before`);
  }
  if (held.desired && state.revision === held.desired.revision && !isDeepStrictEqual(state, held.desired)) {
    throw new Problem(
      'STATE_AMBIGUOUS',
      `revision ${state.revision} was signed with two contents: the first one stays`,
    );
  }
  return state;
}

function statement({ document, signerChain, signature }: NonNullable<Handover['trust']>): SignedStatement {
  return {
    document: Buffer.from(document, 'base64'),
    signerChainPem: signerChain,
    signature: Buffer.from(signature, 'base64'),
  };
}

/** What was verified once needs no signer whose certificate is still good. */
function isSame(document: Uint8Array, held: DesiredState): boolean {
  const { revision, issuedAt } = read(document);
  return revision === held.revision && issuedAt === held.issuedAt && isDeepStrictEqual(read(document), held);
}

/** Only for the name of a refusal: nothing else is believed of what was not verified. */
function isOfAnother(document: Uint8Array, clusterId: string): boolean {
  const { clusterId: other } = read(document);
  return typeof other === 'string' && other !== clusterId;
}

function read(document: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(document).toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // It is refused for its signature or contents where that matters.
    return {};
  }
}
