import type { ControlRequest, Facts, Hello, SignedTrust } from '@fairlead/proto';
import type { TrustEnd } from './ports.js';
import { takeLatest } from './take-latest.js';

/** Our side of a link's Control call: Hello, then which trust bundle we hold whenever we were told one, facts that change, reports, and that we leave. */
export class ControlSender {
  readonly #hello: Hello;
  readonly #over: Promise<void>;
  /** The gateway said which roots count. Says so when they are held; one bundle at a time, however fast they come. */
  readonly take: (trust: SignedTrust) => void;
  /** To be said. */
  #held: number | null = null;
  #report: Uint8Array | null = null;
  #facts: Facts | null = null;
  #leaving = false;
  #woken = Promise.withResolvers<void>();

  /** `over` resolves when the link is. */
  constructor(hello: Hello, trust: TrustEnd, over: Promise<void>) {
    this.#hello = hello;
    this.take = takeLatest(async (told) => {
      const version = await trust.take(told);
      if (version === null) return;
      this.#held = version;
      this.#woken.resolve();
    });
    this.#over = over;
  }

  /** One that is not said yet gives way to this one. */
  report(json: Uint8Array): void {
    this.#report = json;
    this.#woken.resolve();
  }

  /** What is not said yet gives way to what is newer. */
  tellFacts(facts: Facts): void {
    this.#facts = facts;
    this.#woken.resolve();
  }

  /** Said once: the gateway is to send nothing new here. */
  leave(): void {
    this.#leaving = true;
    this.#woken.resolve();
  }

  async *messages(): AsyncGenerator<ControlRequest> {
    yield request({ case: 'hello', value: this.#hello });
    const over = this.#over.then(() => 'over' as const);
    for (;;) {
      if ((await Promise.race([over, this.#woken.promise])) === 'over') return;
      this.#woken = Promise.withResolvers();
      const [version, facts, json, leaving] = [this.#held, this.#facts, this.#report, this.#leaving];
      [this.#held, this.#facts, this.#report, this.#leaving] = [null, null, null, false];
      if (leaving) yield request({ case: 'leave', value: { $typeName: 'fairlead.link.v1.Leave' } });
      if (version !== null)
        yield request({ case: 'trustHeld', value: { $typeName: 'fairlead.link.v1.TrustHeld', version } });
      if (facts) yield request({ case: 'facts', value: facts });
      if (json) yield request({ case: 'report', value: { $typeName: 'fairlead.link.v1.InstallerReport', json } });
    }
  }
}

function request(message: ControlRequest['message']): ControlRequest {
  return { $typeName: 'fairlead.link.v1.ControlRequest', message };
}
