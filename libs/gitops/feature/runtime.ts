import type { ServiceRuntime } from '@fairlead/events';

export { actorOf, commit, operatorOf, read, tell } from '@fairlead/events';

/** What is driven for each of many, apart from each other. */
export type DrivenPart = 'breaker' | 'rollout' | 'cluster' | 'signature' | 'key-schedule' | 'key-rotation';

/** What every use case of the service works with. */
export interface Runtime extends ServiceRuntime {
  /** A desired state was committed: the bucket has to follow. */
  readonly onDesired: () => void;
  /** Work on one of many failed, and is tried again. */
  readonly onFailed?: (part: DrivenPart) => void;
  /** A cluster was brought to its newest desired state, so long after that was signed. */
  readonly onConverged?: (tookMs: number) => void;
}
