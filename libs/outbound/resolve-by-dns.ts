import { Resolver } from 'node:dns/promises';
import type { ResolveName } from './checked-lookup.js';

/** Of each server and try; two servers and tries fit into the deadline of a request. */
const RESOLVER = { timeout: 2_000, tries: 2 };

let resolver: Resolver | undefined;

/**
 * Asks the system's DNS servers for a name as it stands: no hosts file, no search domains. getaddrinfo would block a thread of the few that this process has, for as long as the
 * owner of the name likes. `localhost` is this machine, as RFC 6761, 6.3 has it. Throws what DNS says, if there is no address.
 */
export const resolveByDns: ResolveName = async (name) => {
  if (/(^|\.)localhost\.?$/i.test(name)) return ['127.0.0.1', '::1'];
  resolver ??= new Resolver(RESOLVER);
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const found = [v4, v6].flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
  if (found.length > 0) return found;
  throw v4.status === 'rejected' ? v4.reason : new Error(`${name} has no address`);
};
