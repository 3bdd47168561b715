import type { ServiceRuntime } from '@fairlead/events';

export { actorOf, commit, operatorOf, read, tell } from '@fairlead/events';

/** What every use case of the service works with. */
export type Runtime = ServiceRuntime;
