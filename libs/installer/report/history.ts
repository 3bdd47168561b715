import { MAX_REPORT_EVENTS, type ObjectEvent } from '@fairlead/desired-state';

/** The last steps of what the installer did, for the report. */
export class History {
  readonly #now: () => Date;
  readonly #onStep: (step: ObjectEvent['step']) => void;
  #events: ObjectEvent[] = [];
  #sequence = 0;

  constructor(now: () => Date, onStep: (step: ObjectEvent['step']) => void = () => undefined) {
    this.#now = now;
    this.#onStep = onStep;
  }

  get events(): readonly ObjectEvent[] {
    return this.#events;
  }

  record(step: ObjectEvent['step'], object: string, message: string): void {
    this.#sequence += 1;
    const event = {
      sequence: this.#sequence,
      at: this.#now().toISOString(),
      step,
      object: object.slice(0, 256),
      message: message.slice(0, 1_024),
    };
    this.#events = [...this.#events, event].slice(-MAX_REPORT_EVENTS);
    this.#onStep(step);
  }

  /** Only if the last event of this step and object said something else: what is seen again and again is told once. */
  recordOnce(step: ObjectEvent['step'], object: string, message: string): boolean {
    const last = this.#events.findLast((event) => event.step === step && event.object === object);
    if (last?.message === message.slice(0, 1_024)) return false;
    this.record(step, object, message);
    return true;
  }
}
