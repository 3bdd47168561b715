import type { FairleadError } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';

/** How often each endpoint is found to be somebody else before it is taken for what stays so. */
const MET_TWICE = 2;

/** Notices that nobody at the endpoints can prove itself to the roots that this agent holds, and says the way back. */
export class UntrustedEndpoints {
  readonly #endpoints: () => number;
  readonly #logger: Logger;
  /** Since a link stood. */
  #met = 0;

  /** `endpoints`: how many there are now. */
  constructor(endpoints: () => number, logger: Logger) {
    this.#endpoints = endpoints;
    this.#logger = logger;
  }

  /** Were all of them untrusted for a while? */
  get only(): boolean {
    return this.#met >= this.#enough;
  }

  get #enough(): number {
    return this.#endpoints() * MET_TWICE;
  }

  linked(): void {
    this.#met = 0;
  }

  /** A dial failed while so many links stood: true if it met an untrusted one, as all do. Then only a person can help. */
  met({ code }: FairleadError, links: number, trustVersion: number): boolean {
    if (code !== 'UNTRUSTED_PEER' || links > 0) return false;
    this.#met += 1;
    if (this.#met === this.#enough) {
      this.#logger.error('trust.lost', {
        trustVersion,
        reason:
          'no gateway can prove itself to the roots that this agent holds; was the root of the installation replaced while it was away?',
        next: 'import the cluster again: fairlead cluster import <name> | kubectl apply -f -',
      });
    }
    return this.only;
  }
}
