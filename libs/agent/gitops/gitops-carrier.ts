import { systemClock, type Clock } from '@fairlead/clock';
import type { Logger } from '@fairlead/observability';
import type { DesiredStateEnd } from '@fairlead/tunnel/agent';
import type { AgentIdentity } from '../agent-identity.js';
import { BundleFetcher } from './bundle-fetcher.js';
import { DesiredStateKeeper } from './desired-state-keeper.js';
import type { CarryingLink, HandoverMaps } from './ports.js';
import { readReports } from './report-reader.js';
import { ReportSender } from './report-sender.js';

export interface GitOpsCarrierOptions {
  readonly maps: HandoverMaps;
  readonly identity: AgentIdentity;
  readonly logger: Logger;
  readonly clock?: Clock | undefined;
  /** How often the installer's report is looked at; default 5 s. */
  readonly observeMs?: number | undefined;
}

/**
 * The agent's part in GitOps: it carries desired state and bundles to the installer, and its reports back, and judges none of it.
 * In a cluster without an installer it does nothing but look now and then whether there is one.
 */
export class GitOpsCarrier {
  readonly #options: GitOpsCarrierOptions;
  readonly #clock: Clock;
  readonly #keeper: DesiredStateKeeper;
  readonly #sender: ReportSender;
  readonly #bundles: BundleFetcher;

  constructor(options: GitOpsCarrierOptions) {
    const { maps, identity, logger, clock = systemClock } = options;
    this.#options = options;
    this.#clock = clock;
    this.#keeper = new DesiredStateKeeper({ maps, identity, logger, clock });
    this.#sender = new ReportSender(clock);
    this.#bundles = new BundleFetcher({ maps, logger, clock, links: () => this.#sender.links });
  }

  get desired(): DesiredStateEnd {
    return this.#keeper;
  }

  identityChanged(identity: AgentIdentity): void {
    this.#keeper.identityChanged(identity);
  }

  linked(link: CarryingLink): void {
    this.#sender.linked(link);
  }

  unlinked(link: CarryingLink): void {
    this.#sender.unlinked(link);
  }

  /** Until the signal; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { maps, logger, observeMs } = this.#options;
    const reading = {
      maps,
      logger,
      clock: this.#clock,
      ...(observeMs === undefined ? {} : { observeMs }),
      present: () => this.#keeper.present,
      onReport: (json: Uint8Array, wantedBundle: string | null) => {
        this.#sender.say(json);
        this.#bundles.want(wantedBundle);
      },
    };
    await Promise.all([
      this.#keeper.run(signal),
      readReports(reading, signal),
      this.#sender.run(signal),
      this.#bundles.run(signal),
    ]);
  }
}
