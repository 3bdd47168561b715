import { systemClock, type Clock } from '@fairlead/clock';
import { BoundedMap } from '@fairlead/limits';
import type { Logger } from '@fairlead/observability';
import type { GatewayEvents } from '../reporting/gateway-events.js';
import type { DoorName } from './door-table.js';
import type { Asked, Identity } from './outcome.js';

/** Of one token: a controller that goes by it has hundreds of requests a second. */
const TOLD_EVERY_MS = 60_000;
/** There is one such token in most installations. */
const MAX_TOKENS = 100;

export interface AdministratorWatchOptions {
  readonly events: Pick<GatewayEvents, 'administratorUsed'>;
  readonly logger: Pick<Logger, 'warn'>;
}

/** Makes the use of the administrator's token at a door loud: a warning and an event, once a minute for each token, with a count of the others. */
export class AdministratorWatch {
  readonly #options: AdministratorWatchOptions;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #tokens = new BoundedMap<string, { toldAtMs: number; suppressed: number }>({
    max: MAX_TOKENS,
    overflow: 'forget-oldest',
  });

  constructor(options: AdministratorWatchOptions, clock: Pick<Clock, 'monotonicMs'> = systemClock) {
    this.#options = options;
    this.#clock = clock;
  }

  /** Does nothing for whoever came by any other proof. */
  used(door: DoorName, { name, tenantId, proof }: Identity, address: string, { method, cluster }: Asked): void {
    if (proof.kind !== 'token' || proof.of !== 'administrator') return;
    const nowMs = this.#clock.monotonicMs();
    const before = this.#tokens.get(proof.id);
    if (before && nowMs - before.toldAtMs < TOLD_EVERY_MS) {
      before.suppressed += 1;
      return;
    }
    const suppressed = before?.suppressed ?? 0;
    this.#tokens.set(proof.id, { toldAtMs: nowMs, suppressed: 0 });
    const use = { tenantId, user: name, tokenId: proof.id, address, door, cluster, method, suppressed };
    this.#options.logger.warn('administrator.used', use);
    this.#options.events.administratorUsed(use);
  }
}
