import { NO_TENANT, type Caller } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { appendEvent, createEvent } from '@fairlead/events';
import { spkiPin } from '@fairlead/pki';
import type { EntityManager } from 'typeorm';
import { createPair, type AuthorityPair, type Tree } from '../domain/authority.js';
import { CertificateAuthority } from '../domain/certificate-authority.js';
import {
  authoritiesStamp,
  findAuthorities,
  insertAuthority,
  newestBundle,
  saveBundle,
  type StoredBundle,
} from '../store/authority-store.js';
import { allEndpoints } from '../store/endpoint-store.js';
import { revokedGateways } from '../store/revocation-store.js';
import type { Sealer } from '../store/sealer.js';

/** Of an installation that was given none: all of these have the same, so it tells nobody apart below a root that they share. */
export const DEFAULT_TRUST_DOMAIN = 'fairlead.local';

export interface CaParameters {
  readonly trustDomain: string;
  /** How long what is signed lives. */
  readonly leafLifeSeconds: number;
  /** This process, as the source of events. */
  readonly source: Caller;
}

/** The CA as a transaction sees it. */
export interface Ca {
  readonly authority: CertificateAuthority;
  /** The signed roots, newest version. */
  readonly bundle: StoredBundle;
}

export const TREES: readonly Tree[] = ['identity', 'serving'];

/** As it is in the database, with the stamp that tells when it is so no more. */
export async function loadCa(
  manager: EntityManager,
  sealer: Sealer,
  options: CaParameters,
): Promise<{ stamp: string; ca: Ca }> {
  // Read first: what changes after it is seen by the next comparison.
  const stamp = await authoritiesStamp(manager);
  const bundle = await newestBundle(manager);
  if (!bundle) throw new FairleadError('INTERNAL', 'the database has a CA and no trust bundle');
  return { stamp, ca: { authority: await assemble(manager, sealer, options), bundle } };
}

async function assemble(
  manager: EntityManager,
  sealer: Sealer,
  { trustDomain, leafLifeSeconds }: CaParameters,
): Promise<CertificateAuthority> {
  return new CertificateAuthority(await findAuthorities(manager, sealer), trustDomain, leafLifeSeconds);
}

/** The roots of this moment, and what else agents are told, signed as a version. */
export async function signVersion(
  manager: EntityManager,
  sealer: Sealer,
  options: CaParameters,
  version: number,
  now: Date,
): Promise<void> {
  const authority = await assemble(manager, sealer, options);
  const told = { ...(await revokedGateways(manager, now)), endpoints: await allEndpoints(manager) };
  await saveBundle(manager, { ...(await authority.signBundle(version, told, now)), version }, now);
}

/** The CA of an installation that had none. `imported`: the identity tree that it begins with. */
export async function createFirst(
  manager: EntityManager,
  sealer: Sealer,
  options: CaParameters,
  now: Date,
  imported?: AuthorityPair,
): Promise<void> {
  const { source, trustDomain } = options;
  const pins: string[] = [];
  for (const tree of TREES) {
    const given = tree === 'identity' ? imported : undefined;
    const { root, issuing } = given ?? (await createPair(tree, 'active', now));
    for (const authority of [root, issuing]) await insertAuthority(manager, sealer, authority, now);
    pins.push(spkiPin(root.certificatePem));
  }
  const event = { ...aboutCa(source, pins[0] ?? ''), pins, trustDomain };
  await appendEvent(manager, createEvent(source, 'dev.fairlead.ca.created.v1', event));
}

/** What every event that nobody asked for says. */
export function aboutCa({ credential }: Caller, pin: string) {
  const actor = { kind: 'service', id: credential } as const;
  return { tenantId: NO_TENANT, subject: `ca/${pin}`, actor, reason: 'OK' };
}
