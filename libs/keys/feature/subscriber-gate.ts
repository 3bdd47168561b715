import { BUCKETS, SubscriberEntry } from '@fairlead/contracts';
import { messageOf } from '@fairlead/errors';
import { RunLoop, type Failure } from '@fairlead/loop';
import {
  calloutIssuer,
  cutConnection,
  serveAdmission,
  subscriberConnections,
  watchBucket,
  type KvSnapshot,
} from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import type { NatsConnection } from '@nats-io/transport-node';

const SWEEP_EVERY_MS = 30_000;
const LOADED_EVERY_MS = 500;
/** After a change, once more: who was let in by what was known before it is there by then. */
const SWEEP_AGAIN_MS = 1_000;

export interface SubscriberGateOptions {
  readonly nats: NatsConnection;
  /** Of this process's own credential. */
  readonly seed: string;
  /** Queue group of the service. */
  readonly role: string;
  readonly logger: Logger;
  /** For so long a connection is let in before it is asked about again. Default: an hour. */
  readonly connectionSeconds?: number;
  readonly onDecided?: (outcome: 'admitted' | 'refused' | 'cut') => void;
}

/**
 * Lets subscribers into NATS, as the audit service says who they are, and cuts off whoever is one no more: at each change, and every half minute. Decided from memory. Nobody is let in before
 * the list was read once; nobody is cut off because it cannot be read.
 */
export class SubscriberGate implements AsyncDisposable {
  readonly #options: SubscriberGateOptions;
  readonly #parts = new AsyncDisposableStack();
  readonly #entries: KvSnapshot<SubscriberEntry>;
  /** By public key: whose it is. */
  readonly #ids = new Map<string, string>();
  readonly #keys = new Map<string, string>();
  #sweptAfterChange = true;

  constructor(options: SubscriberGateOptions) {
    this.#options = options;
    const { nats, logger } = options;
    let sweeps: RunLoop | undefined;
    const onChange = (id: string, entry: SubscriberEntry | undefined): void => {
      this.#hold(id, entry?.publicKey);
      this.#sweptAfterChange = false;
      sweeps?.wake();
    };
    this.#entries = watchBucket(nats, BUCKETS.subscribers, SubscriberEntry, { logger, onChange, unreadable: 'drop' });
    this.#parts.defer(() => this.#entries.close());
    const onFailed = (error: unknown, { repeated }: Failure): void =>
      logger.log(repeated ? 'debug' : 'warn', 'subscriber.not_swept', { reason: messageOf(error) });
    sweeps = this.#parts.use(
      new RunLoop({
        intervalMs: SWEEP_EVERY_MS,
        retry: { baseMs: 200, capMs: 5_000 },
        work: () => this.#sweep(),
        onFailed,
      }),
    );
    const known = (publicKey: string): string | undefined =>
      this.#entries.isLoaded ? this.#ids.get(publicKey) : undefined;
    const { onDecided, connectionSeconds, role: queue } = options;
    const issuer = calloutIssuer(options.seed);
    const chosen = { ...(onDecided ? { onDecided } : {}), ...(connectionSeconds ? { connectionSeconds } : {}) };
    this.#parts.use(serveAdmission({ nats, queue, issuer, known, logger, ...chosen }));
  }

  #hold(id: string, publicKey: string | undefined): void {
    const before = this.#keys.get(id);
    // Another one may have that key by now.
    if (before !== undefined && this.#ids.get(before) === id) this.#ids.delete(before);
    if (publicKey === undefined) {
      this.#keys.delete(id);
      return;
    }
    this.#keys.set(id, publicKey);
    this.#ids.set(publicKey, id);
  }

  /** Cuts off every connection of a key that is none any more. Gives how long to wait for the next time. */
  async #sweep(): Promise<number> {
    const { nats, logger, onDecided } = this.#options;
    if (!this.#entries.isLoaded) return LOADED_EVERY_MS;
    const again = !this.#sweptAfterChange;
    this.#sweptAfterChange = true;
    for (const connection of await subscriberConnections(nats)) {
      if (this.#ids.has(connection.publicKey)) continue;
      await cutConnection(nats, connection);
      onDecided?.('cut');
      logger.info('subscriber.cut_off', { publicKey: connection.publicKey });
    }
    return again ? SWEEP_AGAIN_MS : SWEEP_EVERY_MS;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.disposeAsync();
  }
}
