import { FairleadError, assertNever } from '@fairlead/errors';
import { appendEvent, createEvent } from '@fairlead/events';
import { inTransaction } from '@fairlead/persistence';
import { spkiPin } from '@fairlead/pki';
import type { EntityManager } from 'typeorm';
import { certifyNextRoot, createPair, type AuthorityState } from '../domain/authority.js';
import { insertAuthority, moveAuthorities } from '../store/authority-store.js';
import { servingCertificatesOfOldRoot } from '../store/waiting-store.js';
import { CurrentCa, type CurrentCaOptions } from './current-ca.js';
import { aboutCa, type Ca } from './load-ca.js';

/** `status` only looks; `abort` takes a prepared root back; the others go one step on. */
export const SERVING_STEPS = ['status', 'prepare', 'activate', 'retire', 'abort'] as const;
export type ServingStep = (typeof SERVING_STEPS)[number];

export interface ServingStatus {
  readonly roots: readonly { readonly state: AuthorityState; readonly pin: string; readonly notAfter: string }[];
  /** Certificates below the retiring root that have not ended, and when the last one does. */
  readonly certificates: number;
  readonly certificatesUntil: string | null;
}

const SERVING = ['serving-root', 'serving-issuing'] as const;

/**
 * Replaces the root of what people's tools see, in the steps of ADR 24; but nobody who trusts it can be asked. From `prepare` on both roots are
 * handed out; from `activate` to `retire` chains lead to either. CONFLICT: not the step that is due, or, without `force`, servers still
 * show certificates of the old root.
 */
export async function rotateServingRoot(
  options: CurrentCaOptions,
  step: ServingStep,
  force: boolean,
): Promise<ServingStatus> {
  const ca = await CurrentCa.open(options);
  const status = await inTransaction(options.database, async (manager) => {
    const before = await ca.locked(manager);
    if (step !== 'status') await take(options, ca, { manager, before, force }, step);
    return statusOf(manager, await ca.locked(manager), ca.now());
  });
  options.onCommitted();
  return status;
}

interface Turn {
  readonly manager: EntityManager;
  readonly before: Ca;
  readonly force: boolean;
}

async function take(
  options: CurrentCaOptions,
  ca: CurrentCa,
  turn: Turn,
  step: Exclude<ServingStep, 'status'>,
): Promise<void> {
  const { certificates } = await statusOf(turn.manager, turn.before, ca.now());
  switch (step) {
    case 'prepare':
      await prepare(ca, turn);
      break;
    case 'activate':
      await activate(ca, turn);
      break;
    case 'retire':
      await retire(ca, turn, certificates);
      break;
    case 'abort':
      assertFound(turn, 'next', 'there is no prepared root to take back');
      await moveAuthorities(turn.manager, SERVING, 'next', 'retired', ca.now());
      break;
    default:
      assertNever(step);
  }
  const { authority } = await ca.locked(turn.manager);
  const pins = authority.roots('serving').map(spkiPin);
  const data = { ...aboutCa(options.source, pins[0] ?? ''), step, pins, forced: turn.force, certificates };
  await appendEvent(turn.manager, createEvent(options.source, 'dev.fairlead.ca.serving-rotated.v1', data, ca.now()));
}

async function prepare(ca: CurrentCa, { manager, before: { authority } }: Turn): Promise<void> {
  if (authority.find('serving-root', 'next')) {
    throw conflict('a root is prepared already: `activate` is next, or `abort` takes it back');
  }
  if (authority.find('serving-root', 'retiring')) {
    throw conflict('the root before this one is still handed out: `retire` comes first');
  }
  const { root, issuing } = await createPair('serving', 'next', ca.now());
  const crossPem = await certifyNextRoot(authority.pair('serving').root, root.certificatePem, ca.now());
  for (const one of [{ ...root, crossPem }, issuing]) await insertAuthority(manager, ca.sealer, one, ca.now());
}

async function activate(ca: CurrentCa, turn: Turn): Promise<void> {
  assertFound(turn, 'next', 'no root is prepared: `prepare` comes first');
  await moveAuthorities(turn.manager, SERVING, 'active', 'retiring', ca.now());
  await moveAuthorities(turn.manager, SERVING, 'next', 'active', ca.now());
}

async function retire(ca: CurrentCa, turn: Turn, certificates: number): Promise<void> {
  assertFound(turn, 'retiring', 'no root is being retired: `activate` comes first');
  if (certificates > 0 && !turn.force) {
    throw conflict(
      `${certificates} certificates of the old root have not ended, and who gets the new root alone would not believe the servers that show them: ` +
        'wait and look at `status`, or go on with --force',
    );
  }
  await moveAuthorities(turn.manager, SERVING, 'retiring', 'retired', ca.now());
}

function assertFound({ before }: Turn, state: AuthorityState, otherwise: string): void {
  if (!before.authority.find('serving-root', state)) throw conflict(otherwise);
}

async function statusOf(manager: EntityManager, { authority }: Ca, now: Date): Promise<ServingStatus> {
  const { count, until } = await servingCertificatesOfOldRoot(manager, now);
  const roots = authority.members.filter(({ kind }) => kind === 'serving-root');
  return {
    roots: roots.map(({ state, certificatePem, notAfter }) => ({
      state,
      pin: spkiPin(certificatePem),
      notAfter: notAfter.toISOString(),
    })),
    certificates: count,
    certificatesUntil: until?.toISOString() ?? null,
  };
}

function conflict(why: string): FairleadError {
  return new FairleadError('CONFLICT', `the serving tree: ${why}`);
}
