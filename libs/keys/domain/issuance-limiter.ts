import { systemClock, type Clock } from '@fairlead/clock';
import { FairleadError } from '@fairlead/errors';
import { KeyedRateLimit, type Rate } from '@fairlead/limits';

/** A certificate that lives for 10 s is renewed every 7 s or so; the burst is for agents that run twice, and answers that were lost. */
const RENEWALS: Rate = { burst: 10, perSecond: 1 / 5 };
/** An answer that was lost is asked for again with the same token and key, some times; each answer is a certificate. */
const ENROLMENTS: Rate = { burst: 20, perSecond: 1 / 30 };
/** Certificates by who asks for them, and clusters, remembered; above it the oldest is forgotten, so that memory is bounded whatever comes. */
const REMEMBERED = 10_000;

/**
 * Bounds how often agents get certificates, in this process. Questions are counted per gateway that hands them on and certificate that is shown,
 * answers per cluster: neither who holds a certificate that is worth nothing any more nor a gateway that repeats what it once heard keeps anybody
 * from renewing by another way.
 */
export class IssuanceLimiter {
  readonly #asked = new KeyedRateLimit(RENEWALS, REMEMBERED);
  readonly #issued = new KeyedRateLimit(RENEWALS, REMEMBERED);
  readonly #enrolled = new KeyedRateLimit(ENROLMENTS, REMEMBERED);

  constructor(private readonly clock: Pick<Clock, 'monotonicMs'> = systemClock) {}

  /** By this gateway somebody shows this certificate, and what its key signed: now, or long ago. RATE_LIMITED. */
  admit(gateway: string, serial: string, nowMs: number = this.clock.monotonicMs()): void {
    if (!this.#asked.take(`${gateway} ${serial}`, nowMs)) throw limited('this certificate is renewed');
  }

  /** The cluster is about to get another certificate. RATE_LIMITED. */
  issue(clusterId: string, nowMs: number = this.clock.monotonicMs()): void {
    if (!this.#issued.take(clusterId, nowMs)) throw limited('this cluster is renewed');
  }

  /** The cluster is about to get a certificate for an enrolment, which may be the answer to a question that was asked before. RATE_LIMITED. */
  enrol(clusterId: string, nowMs: number = this.clock.monotonicMs()): void {
    if (!this.#enrolled.take(clusterId, nowMs)) throw limited('this cluster enrols');
  }
}

function limited(what: string): FairleadError {
  return new FairleadError('RATE_LIMITED', `${what} too often; wait a moment`);
}
