import { createNkey, natsAuthorization, natsUser, type Holder, type NatsUser } from '@fairlead/messaging';
import { holdersOf } from '@fairlead/setup';
import { secretOnce } from '../state/secret-file.js';
import type { StateDir } from '../state/state-dir.js';

/** The file with the seed of a credential. */
export function seedFile(state: StateDir, credential: string): string {
  return state.file('secrets', `nats-${credential}.seed`);
}

/** The server's `authorization` block: one user for each service, each gateway and the operator; seeds are made once. */
export function prepareNatsCredentials(state: StateDir, gateways: readonly string[]): string {
  return natsAuthorization(holdersOf(gateways).map((holder) => userOf(state, holder)));
}

function userOf(state: StateDir, holder: Holder): NatsUser {
  const seed = secretOnce(seedFile(state, holder.credential), () => createNkey().seed);
  return natsUser(holder, seed);
}
