import { createHash } from 'node:crypto';
import type { Clock } from '@fairlead/clock';
import type { BundleReference, GitOpsSpec } from '@fairlead/desired-state';
import { keyOf, refOf, type KubeObject, type Objects, type ObjectRef } from '@fairlead/kube/rest';
import type { Reconciler } from './apply/reconcile.js';
import type { BundleShelf } from './bundle/bundle-shelf.js';
import type { ToolDriver } from './drivers/driver.js';
import type { FunctionalProbe } from './health/functional.js';
import type { LadderLimits } from './ladder/ladder-state.js';
import type { Preflight } from './preflight/preflight.js';
import type { History } from './report/history.js';
import type { StateKeeper } from './state/state-keeper.js';
import type { WebhookWatch } from './webhooks/webhook-watch.js';

export interface ToolKeeperParts {
  readonly objects: Objects;
  readonly reconciler: Reconciler;
  readonly functional: FunctionalProbe;
  readonly webhooks: WebhookWatch;
  readonly shelf: BundleShelf;
  readonly keeper: StateKeeper;
  readonly history: History;
  readonly clock: Clock;
  readonly limits: LadderLimits;
  /** Of what is put back without the ladder. */
  readonly trustPace: Pace;
  /** Null: it is not asked for. */
  readonly preflight: Preflight | null;
}

/** What is acted for. */
export interface Task {
  readonly driver: ToolDriver;
  readonly spec: GitOpsSpec;
  readonly desiredObjects: readonly KubeObject[];
  readonly key: string;
  readonly reference: Pick<BundleReference, 'digest' | 'bytes'>;
  /** Which revision this is, as a whole. */
  readonly revision: number;
}

/** A bundle with the rules for its images: one that failed is tried again when either changes. */
export function attemptOf({ bundle, images, lockdown }: GitOpsSpec): string {
  return createHash('sha256')
    .update(JSON.stringify([bundle.digest, images, lockdown]))
    .digest('hex');
}

/** Inventory of these objects. */
export function inventoryOf(objects: readonly KubeObject[]): ObjectRef[] {
  return [...new Map(objects.map((object) => [keyOf(refOf(object)), refOf(object)])).values()];
}

/** That something is done once in some time, at most. Times are monotonic, in milliseconds. */
export class Pace {
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly everyMs: number) {}

  take(nowMs: number): boolean {
    if (nowMs - this.#lastMs < this.everyMs) return false;
    this.#lastMs = nowMs;
    return true;
  }
}
