import { FairleadError, messageOf } from '@fairlead/errors';
import { MAX_ENDPOINTS, writeEndpoints, type LinkEndpoint } from '@fairlead/pki';

type Endpoints = readonly LinkEndpoint[];

/**
 * With this one in the place of the one at its address, or added. INVALID_ARGUMENT for more than a trust bundle has room for; CONFLICT if it leaves no
 * active one.
 */
export function withEndpoint(set: Endpoints, endpoint: LinkEndpoint): Endpoints {
  const next = [...set.filter(({ address }) => address !== endpoint.address), endpoint];
  if (next.length > MAX_ENDPOINTS) {
    throw new FairleadError(
      'INVALID_ARGUMENT',
      `there are ${MAX_ENDPOINTS} endpoints, and no more are told: remove one first`,
    );
  }
  try {
    writeEndpoints({ endpoints: next });
  } catch (cause) {
    throw new FairleadError('INVALID_ARGUMENT', `this endpoint cannot be told: ${messageOf(cause)}`, { cause });
  }
  return withActive(next, `${endpoint.address} is the last active endpoint`);
}

/** Without the one at this address. NOT_FOUND; CONFLICT if only draining ones are left. */
export function withoutEndpoint(set: Endpoints, address: string): Endpoints {
  const next = set.filter((each) => each.address !== address);
  if (next.length === set.length) throw new FairleadError('NOT_FOUND', `there is no endpoint ${address}`);
  return withActive(next, `without ${address}, all endpoints are draining`);
}

/** Agents that are to leave every endpoint would leave none. */
function withActive(set: Endpoints, why: string): Endpoints {
  if (set.length === 0 || set.some(({ state }) => state === 'active')) return set;
  throw new FairleadError('CONFLICT', `${why}: add the one that takes its place first (fairlead endpoints add)`);
}
