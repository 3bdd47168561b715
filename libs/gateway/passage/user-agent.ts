import { headerValues } from '@fairlead/kube-http';

const MAX_CHARACTERS = 256;

/** How a peer calls itself; the first, if it does so more than once. */
export function userAgentOf(rawHeaders: readonly string[]): string | undefined {
  return headerValues(rawHeaders, 'user-agent')[0]?.slice(0, MAX_CHARACTERS);
}
