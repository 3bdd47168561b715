import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { FairleadError } from '@fairlead/errors';
import { mayDial, refusedAddress, type OutboundRules } from './outbound-rules.js';

/** All addresses of a name. */
export type ResolveName = (name: string) => Promise<readonly string[]>;

const resolveBySystem: ResolveName = async (name) => (await lookup(name, { all: true })).map(({ address }) => address);

/**
 * For a socket to this URL: resolves its name once, to addresses all of which may be dialled. The socket dials what it is given here, so that no name can lead somewhere else
 * after it was looked at (DNS rebinding). Ends with INVALID_ARGUMENT if one of them may not be dialled.
 */
export function checkedLookup(rules: OutboundRules, url: URL, resolve: ResolveName = resolveBySystem): LookupFunction {
  const find = callbackify(async (hostname: string) => {
    const addresses = await resolve(hostname);
    if (!addresses.every((address) => mayDial(rules, url, address))) throw refusedAddress(rules, url);
    return addresses.map((address) => ({ address, family: isIP(address) }));
  });
  return (hostname, options, callback) =>
    find(hostname, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error) callback(error, '');
      else if (!first) callback(new FairleadError('UNAVAILABLE', `${hostname} has no address`), '');
      else if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
}
