import { NO_TENANT, type Caller, type CaRotation, type CaStatus, type RotateCa } from '@fairlead/contracts';
import { FairleadError, assertNever } from '@fairlead/errors';
import { appendEvent, createEvent, type EventInput, type EventType } from '@fairlead/events';
import { inTransaction } from '@fairlead/persistence';
import { spkiPin } from '@fairlead/pki';
import type { DataSource, EntityManager } from 'typeorm';
import { certifyNextRoot, createPair, type AuthorityPair } from '../domain/authority.js';
import { RECOVERY_WINDOW_SECONDS } from '../domain/recovery-window.js';
import { isDone, refuseStep } from '../domain/rotation-refusal.js';
import { insertAuthority, moveAuthorities } from '../store/authority-store.js';
import { raiseAcknowledgements } from '../store/waiting-store.js';
import { caStatus, rotationOf, type WaitingView } from './ca-status.js';
import type { CurrentCa } from './current-ca.js';
import type { Ca } from './load-ca.js';

export interface RotationOptions {
  readonly database: DataSource;
  readonly ca: CurrentCa;
  /** Live replicas that hold an older version of the trust bundle; throws UNAVAILABLE if nobody knows. */
  readonly behind: WaitingView['behind'];
  /** As the one that certificates are renewed by; default 30 days. */
  readonly recoveryWindowSeconds?: number;
  /** This process, as the source of events. */
  readonly source: Caller;
  /** Events and the projection may go out. */
  readonly onCommitted: () => void;
}

/** One step, in its transaction: nobody signs meanwhile. */
interface Turn {
  readonly manager: EntityManager;
  readonly before: Ca;
  readonly caller: Caller;
  readonly force: boolean;
}

const IDENTITY = ['identity-root', 'identity-issuing'] as const;

/** Replaces the root of the identity tree, in steps that agents and replicas acknowledge (ADR 24). The serving tree's root is another matter: serving-rotation.ts. */
export class Rotation {
  constructor(private readonly options: RotationOptions) {}

  status(): Promise<CaStatus> {
    const { database, ca } = this.options;
    return inTransaction(database, async (manager) => caStatus(manager, await ca.shared(manager), this.#view()));
  }

  /** CONFLICT: not the step that is due, or somebody would be cut off; the message says who, and what to do. */
  async rotate(caller: Caller, { step, force }: RotateCa): Promise<CaStatus> {
    const { database, ca, onCommitted } = this.options;
    await ca.upkeep();
    const status = await inTransaction(database, async (manager) => {
      const turn: Turn = { manager, before: await ca.locked(manager), caller, force };
      return caStatus(manager, await this.#take(turn, step), this.#view());
    });
    onCommitted();
    return status;
  }

  /** The next root, made elsewhere: what `prepare` does otherwise. CONFLICT while a root is rotated. */
  async prepareImported(caller: Caller, manager: EntityManager, next: AuthorityPair): Promise<void> {
    const turn: Turn = { manager, before: await this.options.ca.locked(manager), caller, force: false };
    await this.#addNext(turn, next, true);
  }

  /** Agents hold a version of the bundle, and keep it. Whatever comes late takes nothing back. */
  async acknowledge(held: readonly { readonly clusterId: string; readonly version: number }[]): Promise<void> {
    await inTransaction(this.options.database, (manager) => raiseAcknowledgements(manager, held));
  }

  #take(turn: Turn, step: RotateCa['step']): Promise<Ca> {
    switch (step) {
      case 'prepare':
        return this.#prepare(turn);
      case 'activate':
        return this.#activate(turn);
      case 'retire':
        return this.#retire(turn);
      case 'abort':
        return this.#abort(turn);
      default:
        return assertNever(step);
    }
  }

  async #prepare(turn: Turn): Promise<Ca> {
    const { before } = turn;
    assertNoRotation(before);
    const active = before.authority.pair('identity').root;
    if (active.privateKeyPem === null) {
      throw conflict(
        'the active root is offline, so it cannot vouch for the next one here: run `fairlead-keys import-ca`',
      );
    }
    const { root, issuing } = await createPair('identity', 'next', this.#now());
    const crossPem = await certifyNextRoot(active, root.certificatePem, this.#now());
    return this.#addNext(turn, { root: { ...root, crossPem }, issuing }, false);
  }

  async #addNext(turn: Turn, { root, issuing }: AuthorityPair, imported: boolean): Promise<Ca> {
    assertNoRotation(turn.before);
    const { ca } = this.options;
    for (const authority of [root, issuing]) await insertAuthority(turn.manager, ca.sealer, authority, this.#now());
    const after = await ca.publish(turn.manager);
    await this.#tell(turn, 'dev.fairlead.ca.prepared.v1', { ...about(turn, after), imported });
    return after;
  }

  async #activate(turn: Turn): Promise<Ca> {
    if (!turn.before.authority.find('identity-root', 'next')) {
      throw conflict('no root is prepared: `fairlead ca prepare` comes first');
    }
    const cutOff = await this.#cutOff(turn, 'activate');
    await moveAuthorities(turn.manager, IDENTITY, 'active', 'retiring', this.#now());
    await moveAuthorities(turn.manager, IDENTITY, 'next', 'active', this.#now());
    const after = await this.options.ca.publish(turn.manager);
    await this.#tell(turn, 'dev.fairlead.ca.activated.v1', { ...about(turn, after), ...cutOff });
    return after;
  }

  async #retire(turn: Turn): Promise<Ca> {
    if (!turn.before.authority.find('identity-root', 'retiring')) {
      const first = turn.before.authority.find('identity-root', 'next') ? 'activate' : 'prepare';
      throw conflict(`no root is being retired: \`fairlead ca ${first}\` comes first`);
    }
    const cutOff = await this.#cutOff(turn, 'retire');
    await moveAuthorities(turn.manager, IDENTITY, 'retiring', 'retired', this.#now());
    const after = await this.options.ca.publish(turn.manager);
    await this.#tell(turn, 'dev.fairlead.ca.retired.v1', { ...about(turn, after), ...cutOff });
    return after;
  }

  async #abort(turn: Turn): Promise<Ca> {
    if (!turn.before.authority.find('identity-root', 'next')) {
      throw conflict('there is no prepared root to take back; one that is active goes only with the next rotation');
    }
    await moveAuthorities(turn.manager, IDENTITY, 'next', 'retired', this.#now());
    const after = await this.options.ca.publish(turn.manager);
    await this.#tell(turn, 'dev.fairlead.ca.aborted.v1', about(turn, after));
    return after;
  }

  /** How many are cut off. CONFLICT if there are any and nobody forces it. */
  async #cutOff({ manager, before, force }: Turn, step: 'activate' | 'retire'): Promise<CutOff> {
    const rotation = await rotationOf(manager, before, this.#view());
    if (rotation && !isDone(rotation) && !force) throw refuseStep(step, before.bundle.version, rotation);
    return countCutOff(rotation, force);
  }

  #tell<T extends EventType>({ manager }: Turn, type: T, data: EventInput<T>): Promise<void> {
    return appendEvent(manager, createEvent(this.options.source, type, data, this.#now()));
  }

  #view(): WaitingView {
    const { behind, recoveryWindowSeconds = RECOVERY_WINDOW_SECONDS } = this.options;
    return { now: this.#now(), recoveryWindowMs: recoveryWindowSeconds * 1_000, behind };
  }

  #now(): Date {
    return this.options.ca.now();
  }
}

interface CutOff {
  readonly forced: boolean;
  readonly cutOffClusters: number;
  readonly cutOffGateways: number;
  readonly cutOffCertificates: number;
}

function countCutOff(rotation: CaRotation | null, forced: boolean): CutOff {
  return {
    forced,
    cutOffClusters: rotation ? rotation.clusters - rotation.clustersDone : 0,
    cutOffGateways: rotation?.gateways.length ?? 0,
    cutOffCertificates: rotation?.otherCertificates ?? 0,
  };
}

function assertNoRotation({ authority }: Ca): void {
  if (authority.find('identity-root', 'next')) {
    throw conflict('a root is prepared already: `fairlead ca activate` is next, or `fairlead ca abort` takes it back');
  }
  if (authority.find('identity-root', 'retiring')) {
    throw conflict('the root before this one is still trusted: `fairlead ca retire` comes first');
  }
}

function about({ caller }: Turn, { authority, bundle }: Ca) {
  const pins = authority.roots().map(spkiPin);
  const actor = { kind: 'service', id: caller.credential } as const;
  return { tenantId: NO_TENANT, subject: `ca/${pins[0]}`, actor, reason: 'OK', pins, trustVersion: bundle.version };
}

function conflict(why: string): FairleadError {
  return new FairleadError('CONFLICT', why);
}
