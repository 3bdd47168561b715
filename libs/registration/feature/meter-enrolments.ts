import { Histogram, type Registry } from '@fairlead/observability';

/** What let an agent in: a token alone, or somebody's approval. */
export type LetInBy = 'token' | 'approval';

/** Told of each certificate that was given, with how long its agent has waited for nobody but us, milliseconds. */
export type OnEnrolled = (by: LetInBy, waitedMs: number) => void;

const SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** The time to enrol: from the moment at which nobody but us had to do anything more. */
export function meterEnrolments(registry: Registry): OnEnrolled {
  const seconds = new Histogram({
    name: 'fairlead_registration_enrol_seconds',
    help: 'From the question with a good token, or the approval, until the certificate was given; more than one where an agent had to ask again.',
    labelNames: ['by'],
    buckets: SECONDS,
    registers: [registry],
  });
  for (const by of ['token', 'approval'] as const) seconds.zero({ by });
  return (by, waitedMs) => seconds.observe({ by }, Math.max(0, waitedMs) / 1_000);
}
