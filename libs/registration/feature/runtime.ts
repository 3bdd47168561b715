import type { FairleadError } from '@fairlead/errors';
import { commit, tell, type EventInput, type ServiceRuntime } from '@fairlead/events';
import type { RateLimitedEvents } from '@fairlead/limits';

export { actorOf, commit, operatorOf, read, tell } from '@fairlead/events';

/** What every use case of the service works with. */
export type Runtime = ServiceRuntime;

type Refused = 'dev.fairlead.enrolment.refused.v1' | 'dev.fairlead.import-link.refused.v1';

/**
 * Records a refusal in a transaction of its own, since the refused one left nothing, and throws it. What merely failed (5xx)
 * is no refusal and leaves no event; nor does what comes too often, but it is counted. `who`: see RateLimitedEvents.
 */
export async function refuse<T extends Refused>(
  runtime: Runtime,
  { rate, who }: { readonly rate: RateLimitedEvents; readonly who: string | null },
  error: FairleadError,
  type: T,
  data: EventInput<T>,
): Promise<never> {
  if (error.kind.http >= 500) throw error;
  const suppressed = rate.take(who);
  if (suppressed === null) throw error;
  try {
    await commit(runtime, (manager) => tell(runtime, manager, type, { ...data, suppressed }));
  } catch (cause) {
    // The refusal stands, whether or not it could be recorded.
    runtime.logger.error('event.not_recorded', { type, subject: data.subject, reason: error.code, err: cause });
  }
  throw error;
}
