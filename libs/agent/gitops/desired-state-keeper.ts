import type { Clock } from '@fairlead/clock';
import { HANDOVER, Handover } from '@fairlead/desired-state/carried';
import { toFairleadError } from '@fairlead/errors';
import { Wake, runLoop, type Failure } from '@fairlead/loop';
import type { Logger } from '@fairlead/observability';
import type { SignedDesiredState } from '@fairlead/proto';
import type { DesiredStateEnd } from '@fairlead/tunnel/agent';
import type { AgentIdentity } from '../agent-identity.js';
import type { HandoverMaps } from './ports.js';

/** Beside `handover`, ours alone: whose it is, which revision, and since when. */
const KEYS = { clusterId: 'cluster-id', revision: 'revision', takenAt: 'taken-at' } as const;
const MAX_REVISION = 2 ** 48;
/** Signatures end: one that was taken longer ago is asked for again, as it was signed last. */
const FRESH_MS = 12 * 3_600_000;
/** How often what is written is looked at again: somebody may have changed or replaced the ConfigMap. */
const OBSERVE_MS = 300_000;
/** The same one, told again so much later, is worth a write that says so. */
const NEWER_MS = 3_600_000;
/** However fast gateways tell something new. */
const LEAST_PAUSE_MS = 1_000;
const RETRY = { baseMs: 2_000, capMs: 60_000 };

export interface KeeperOptions {
  readonly maps: HandoverMaps;
  readonly identity: AgentIdentity;
  readonly logger: Logger;
  readonly clock: Clock;
}

type Values = Readonly<Record<string, string>>;
type Desired = NonNullable<Handover['desiredState']>;

/**
 * Hands what gateways say is desired of the cluster, unread, to the installer: with the roots that the agent trusts and the trust
 * bundle they are of. What counts is judged there. Written when it changed, and put back when it is gone.
 */
export class DesiredStateKeeper implements DesiredStateEnd {
  readonly #options: KeeperOptions;
  readonly #wake = new Wake();
  #identity: AgentIdentity;
  #told: { readonly revision: number; readonly state: Desired; readonly atMs: number } | null = null;
  #written: { readonly revision: number; readonly takenAtMs: number } | null = null;
  #present = false;
  #complained = false;
  #saidAbsent = false;

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#identity = options.identity;
  }

  get revision(): number {
    if (!this.#written || this.#options.clock.nowMs() - this.#written.takenAtMs > FRESH_MS) return 0;
    return this.#written.revision;
  }

  /** Is there a ConfigMap for it: was the cluster imported with an installer? */
  get present(): boolean {
    return this.#present;
  }

  take(state: SignedDesiredState): void {
    const desired = Handover.shape.desiredState.safeParse({
      document: Buffer.from(state.document).toString('base64'),
      signerChain: state.signerChainPem,
      signature: Buffer.from(state.signature).toString('base64'),
    });
    if (desired.data && state.revision > 0n && state.revision <= MAX_REVISION) {
      this.#told = { revision: Number(state.revision), state: desired.data, atMs: this.#options.clock.nowMs() };
      this.#wake.call();
    } else if (!this.#complained) {
      this.#complained = true;
      this.#options.logger.warn('desired_state.unusable', { reason: 'it is larger than any, or has no revision' });
    }
  }

  /** The roots that are handed over with it may have changed. */
  identityChanged(identity: AgentIdentity): void {
    this.#identity = identity;
    this.#wake.call();
  }

  /** Until the signal; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    const work = async (): Promise<void> => {
      try {
        await this.#writeOnce();
      } finally {
        await clock.sleep(LEAST_PAUSE_MS, signal).catch(() => undefined);
      }
    };
    const onFailed = (error: unknown, { before: attempt }: Failure): void => {
      const { code, message } = toFairleadError(error);
      logger.warn('desired_state.not_handed_over', { attempt, code, reason: message });
    };
    const loop = { work, intervalMs: OBSERVE_MS, jitter: 0.5, retry: RETRY, onFailed, clock, wake: this.#wake };
    await runLoop(loop, signal);
  }

  async #writeOnce(): Promise<void> {
    const { maps, logger } = this.#options;
    try {
      const held = await maps.read(HANDOVER.desiredState);
      this.#found();
      const next = this.#next(held);
      if (!next) return;
      await maps.write(HANDOVER.desiredState, { data: next });
      this.#learn(next);
      logger.info('desired_state.handed_over', { revision: Number(next[KEYS.revision] ?? 0) });
    } catch (error) {
      const { code, message } = toFairleadError(error);
      if (code !== 'NOT_FOUND' && code !== 'FORBIDDEN') throw error;
      this.#notThere(message);
    }
  }

  /** What is to be written; null if all of it is there already. */
  #next(held: Values): Values | null {
    this.#learn(held);
    const own = held[KEYS.clusterId] === this.#identity.clusterId;
    const before = own ? readHandover(held[HANDOVER.keys.handover]) : null;
    const told = this.#told;
    const desiredState = told?.state ?? before?.desiredState ?? null;
    // Nothing is desired of this cluster, or it is not known yet.
    if (!desiredState) return null;
    const { rootsPem, signedTrust } = this.#identity;
    const handover: Handover = { trust: signedTrust ?? before?.trust ?? null, roots: rootsPem, desiredState };
    const text = JSON.stringify(handover);
    const toldAnew = (told?.atMs ?? 0) - (this.#written?.takenAtMs ?? 0) > NEWER_MS;
    if (own && text === held[HANDOVER.keys.handover] && !toldAnew) return null;
    return {
      [HANDOVER.keys.handover]: text,
      [KEYS.clusterId]: this.#identity.clusterId,
      [KEYS.revision]: String(told?.revision ?? held[KEYS.revision] ?? 0),
      [KEYS.takenAt]: told ? new Date(told.atMs).toISOString() : (held[KEYS.takenAt] ?? ''),
    };
  }

  #learn(values: Values): void {
    const [revision, takenAtMs] = [Number(values[KEYS.revision]), Date.parse(values[KEYS.takenAt] ?? '')];
    const usable = values[KEYS.clusterId] === this.#identity.clusterId && revision > 0 && takenAtMs > 0;
    this.#written = usable ? { revision, takenAtMs } : null;
  }

  #found(): void {
    if (!this.#present) this.#options.logger.debug('desired_state.installer_wanted', {});
    this.#present = true;
  }

  /** Said once: most clusters have no installer. */
  #notThere(reason: string): void {
    if (this.#present || this.#written !== null || !this.#saidAbsent) {
      this.#options.logger.debug('desired_state.no_installer', { reason });
    }
    [this.#present, this.#written, this.#saidAbsent] = [false, null, true];
  }
}

/** What is written there; null if it is nothing of ours. */
function readHandover(text: string | undefined): Handover | null {
  if (text === undefined || text === '') return null;
  try {
    return Handover.parse(JSON.parse(text));
  } catch {
    // Somebody else wrote it: it is written anew.
    return null;
  }
}
