import { isIP } from 'node:net';
import { FairleadError } from '@fairlead/errors';
import { parseWitnessPolicy } from '@fairlead/transparency-log';
import type { AskedWitness } from './ask-witnesses.js';

/**
 * The witnesses of a policy (C2SP tlog-policy) that have a URL: they are asked. INVALID_ARGUMENT for a policy that is none, and for a URL that is neither https nor of this
 * machine, or has more than a host and a path: what a witness is sent is no secret, and what it answers is verified, but nobody else is to learn who asks whom.
 */
export function witnessesToAsk(policy: string): AskedWitness[] {
  return parseWitnessPolicy(policy).witnesses.flatMap(({ name, verifierKey, key, url }) => {
    if (!url) return [];
    const { protocol, username, password, search, hash } = url;
    if (protocol !== 'https:' && !(protocol === 'http:' && isLoopback(url)))
      throw new FairleadError('INVALID_ARGUMENT', `the URL of the witness ${name} is not https`);
    if (username + password + search + hash !== '')
      throw new FairleadError('INVALID_ARGUMENT', `the URL of the witness ${name} has more than a host and a path`);
    return [{ verifierKey, key, url }];
  });
}

function isLoopback({ hostname }: URL): boolean {
  if (hostname === 'localhost' || hostname === '[::1]') return true;
  return isIP(hostname) === 4 && hostname.startsWith('127.');
}
