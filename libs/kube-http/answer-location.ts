import { FairleadError } from '@fairlead/errors';
import { whyAmbiguous } from './kube-path.js';
import { headerPairs, type RawHeaders } from './request-headers.js';

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const LOCATIONS = new Set(['location', 'content-location']);

/**
 * An answer's headers with its locations put below the path of the cluster they came from (`/clusters/<name>`, or nothing at a host name of its
 * own), so that who follows one stays there.
 *
 * A cluster is not to be trusted with the clients of others: client-go sends its bearer token along to wherever a redirect leads, in
 * plain text too, and repeats a DELETE at another cluster's path. So a location is a path, or it is nothing. Throws
 * PROTOCOL_ERROR for a redirect to anywhere else; elsewhere such a location is left out.
 */
export function locatedWithin(raw: RawHeaders, status: number, below: string): string[] {
  const kept: string[] = [];
  for (const [name, value] of headerPairs(raw)) {
    const lower = name.toLowerCase();
    const located = LOCATIONS.has(lower) ? pathWithin(value, below) : value;
    if (located !== null) kept.push(name, located);
    else if (lower === 'location' && REDIRECTS.has(status)) throw leadsAway();
  }
  return kept;
}

/** What a client asks for when it follows this, or null unless that is surely a path of the cluster. */
function pathWithin(value: string, below: string): string | null {
  // Two slashes, either way, begin a host.
  if (!/^\/(?![/\\])/.test(value)) return null;
  return whyAmbiguous(value) === null ? `${below}${value}` : null;
}

function leadsAway(): FairleadError {
  return new FairleadError(
    'PROTOCOL_ERROR',
    'the cluster answered with a redirect to somewhere else, which is not passed on: it would take your token along',
  );
}
