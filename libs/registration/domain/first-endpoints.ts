import type { LinkEndpoint } from '@fairlead/contracts';

/** As many as an import manifest has room for. */
const MAX_FIRST = 16;

/**
 * What an agent dials before it was told anything: the endpoints that are named now and not to be left, or else those of the configuration. All of
 * these are called alike in TLS, so one with a server name of its own is none of them while there are others.
 */
export function firstEndpoints(named: readonly LinkEndpoint[], configured: readonly string[]): string[] {
  const active = named.filter(({ state }) => state === 'active');
  const alike = active.filter(({ serverName }) => serverName === undefined);
  const first = alike.length > 0 ? alike : active;
  const heaviest = first.toSorted((a, b) => b.weight - a.weight).slice(0, MAX_FIRST);
  return heaviest.length > 0 ? heaviest.map(({ address }) => address) : [...configured];
}
