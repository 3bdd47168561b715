import { randomUUID } from 'node:crypto';

/** As long as an id of a passage may be, of what stands in a place of a list as it is. */
const TAKEN = /^[A-Za-z0-9._~:-]{1,64}$/;

/** By what id a connection out of a cluster is called: the agent's, if it is one, else one of ours. Lists of what goes through doors go on by it. */
export function tunnelIdOf(said: string): string {
  return TAKEN.test(said) ? said : randomUUID();
}
