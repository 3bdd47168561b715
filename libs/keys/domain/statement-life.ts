const MIN_MS = 10 * 60_000;
const MAX_MS = 7 * 86_400_000;

/**
 * How long a signed desired state may still be handed to an installer that does not hold it. As long as an agent's certificate lives:
 * then the agents that a retired root waits for are waited for longer than what its CA had signed, if that is signed again after
 * half of its life. Not below ten minutes, in which it has to reach the cluster; and a week at most, since whoever records one can show it
 * to an installer that has lost its memory for as long.
 */
export function statementLifeMs(leafLifeSeconds: number): number {
  return Math.min(MAX_MS, Math.max(MIN_MS, leafLifeSeconds * 1_000));
}
