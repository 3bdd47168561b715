import type { FairleadError } from '@fairlead/errors';
import type { Tracer } from '@fairlead/observability';
import { DoorLimiter, type DoorLimits } from '../limits/door-limiter.js';
import type { DoorName } from './door-table.js';
import type { LiveConnections } from './live-connections.js';
import type { Ending, Failed, Outcome } from './outcome.js';
import { OutcomeRecorder, type RecorderOptions } from './outcome-recorder.js';
import { Passage, type Arrival, type PassageSources } from './passage.js';

/** What all doors of a replica share. */
export interface PassageOptions extends RecorderOptions {
  /** Credential of this replica. */
  readonly ingress: string;
  readonly live: LiveConnections;
  readonly tracer: Tracer;
}

/** The outcome of what was refused before it was looked at any further. */
export type TurnedAway = Outcome & { readonly ending: Failed };

/** What every passage through one door has: its stages in `Passage`, one outcome, and all that it took given back. */
export class DoorPassages {
  readonly #door: DoorName;
  readonly #options: PassageOptions;
  readonly #limiter: DoorLimiter;
  readonly #recorder: OutcomeRecorder;
  readonly #statusOf: (failure: FairleadError) => number;

  /** `statusOf`: what a peer is told of a failure, if it is not what the error's table says. */
  constructor(
    door: DoorName,
    limits: DoorLimits,
    options: PassageOptions,
    statusOf: (failure: FairleadError) => number = ({ kind }) => kind.http,
  ) {
    this.#door = door;
    this.#options = options;
    this.#limiter = new DoorLimiter(door, limits, options.live);
    this.#recorder = new OutcomeRecorder(options);
    this.#statusOf = statusOf;
  }

  /**
   * One passage, from its arrival to its end. `carry` calls the stages and resolves when it is over; what it throws refuses the
   * passage or broke it, and `answer` tells the peer. The outcome is recorded once and all that was taken is given back, whatever
   * happens. Rejects only for a fault of ours.
   */
  async pass(
    arrival: Arrival,
    carry: (passage: Passage) => Promise<Ending>,
    answer: (passage: Passage, failed: Failed) => void,
  ): Promise<void> {
    const passage = this.#arrived(arrival);
    try {
      const ending = await carry(passage).catch((error: unknown) => passage.endingOf(error));
      this.#recorder.record(passage.outcome(ending), passage.span);
      if (ending.kind === 'failed') answer(passage, ending);
    } finally {
      passage.release();
    }
  }

  /** What came and could not be read as anything to carry. `status`: what the peer is told. Throws only for a fault of ours. */
  turnAway(arrival: Arrival, failure: FairleadError, status: number = this.#statusOf(failure)): TurnedAway {
    const passage = this.#arrived(arrival);
    const ending = { ...passage.endingOf(failure), status };
    const outcome = { ...passage.outcome(ending), ending };
    this.#recorder.record(outcome, passage.span);
    return outcome;
  }

  #arrived(arrival: Arrival): Passage {
    const { ingress, live, tracer } = this.#options;
    const { name, attributes } = arrival.span;
    const span = tracer.begin(name, 'server', arrival.caller, attributes);
    const [door, limiter, statusOf] = [this.#door, this.#limiter, this.#statusOf];
    const onConnected: PassageSources['onConnected'] = (via, addedMs) => this.#recorder.connected(door, via, addedMs);
    const onIntent = (outcome: Outcome): Promise<void> | undefined => this.#recorder.intent(outcome);
    const onEstablished = (outcome: Outcome): void => this.#recorder.established(outcome);
    const onIdentified: PassageSources['onIdentified'] = (...told) => this.#recorder.identified(door, ...told);
    const sources = {
      door,
      ingress,
      limiter,
      live,
      span,
      onIdentified,
      onIntent,
      onConnected,
      onEstablished,
      statusOf,
    };
    return new Passage(arrival, sources);
  }
}
