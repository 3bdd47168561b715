import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import type { IncomingMessage } from 'node:http';
import { get, type RequestOptions } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { BundleLimits } from '@fairlead/desired-state';
import { FairleadError, messageOf } from '@fairlead/errors';
import { isPublicAddress } from '../domain/public-address.js';

export interface FetchOptions {
  /** Allows addresses of this machine and of private networks, for installations with a mirror of their own. Default false. */
  readonly privateAddresses?: boolean;
  /** PEM of a private authority, for such a mirror: then only it is trusted. */
  readonly ca?: string | undefined;
  /** For all of it. Default 60 s. */
  readonly timeoutMs?: number;
}

export const FETCH_TIMEOUT_MS = 60_000;
const MAX_REDIRECTS = 5;

/**
 * Reads a file by https. Each address is looked at after its name was resolved, and it is the one that is dialled, so that no name can
 * lead somewhere else the second time; a redirect is held to all of it again. Throws INVALID_ARGUMENT for what may not be
 * asked, UNAVAILABLE for what does not answer well, TOO_LARGE.
 */
export async function fetchBundle(url: string, options: FetchOptions = {}): Promise<Buffer> {
  const signal = AbortSignal.timeout(options.timeoutMs ?? FETCH_TIMEOUT_MS);
  let target = checkUrl(url, options);
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const answer = await request(target, options, signal);
    const { statusCode = 0, headers } = answer;
    if (statusCode === 200) return readBounded(answer, signal);
    answer.destroy();
    if (![301, 302, 303, 307, 308].includes(statusCode) || !headers.location) {
      throw unavailable(target, `answered ${statusCode}`);
    }
    target = checkUrl(URL.parse(headers.location, target.href)?.href ?? '', options);
  }
  throw unavailable(target, `was reached by more than ${MAX_REDIRECTS} redirects`);
}

function checkUrl(text: string, { privateAddresses = false }: FetchOptions): URL {
  const url = URL.parse(text);
  if (url?.protocol !== 'https:') throw refused('only https: is fetched');
  if (url.username !== '' || url.password !== '') throw refused('it may hold no user or password');
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  // Nobody resolves an address, so nobody would look at it later.
  if (isIP(host) !== 0 && !privateAddresses && !isPublicAddress(host)) throw refusedAddress(url);
  return url;
}

function request(url: URL, options: FetchOptions, signal: AbortSignal): Promise<IncomingMessage> {
  const settings: RequestOptions = {
    signal,
    agent: false,
    lookup: guarded(url, options.privateAddresses ?? false),
    minVersion: 'TLSv1.2',
    headers: { accept: '*/*', 'user-agent': 'fairlead', 'accept-encoding': 'identity' },
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  };
  return new Promise((resolve, reject) => {
    get(url, settings, resolve).on('error', (error) => {
      reject(error instanceof FairleadError ? error : unavailable(url, messageOf(error), error));
    });
  });
}

/** Resolves a name to the addresses that may be dialled; an error if one of them may not. */
function guarded(url: URL, privateAddresses: boolean): LookupFunction {
  return (hostname, options, callback) => {
    systemLookup(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error) return callback(error, '');
      if (!privateAddresses && !addresses.every(({ address }) => isPublicAddress(address))) {
        return callback(refusedAddress(url), '');
      }
      const [first] = addresses;
      if (options.all) return callback(null, addresses);
      return first ? callback(null, first.address, first.family) : callback(unavailable(url, 'has no address'), '');
    });
  };
}

async function readBounded(answer: IncomingMessage, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > BundleLimits.maxBytes) {
        throw new FairleadError('TOO_LARGE', `the bundle has more than ${BundleLimits.maxBytes} bytes`);
      }
      chunks.push(chunk);
    }
  } catch (cause) {
    if (cause instanceof FairleadError) throw cause;
    const why = signal.aborted ? 'it took too long' : 'the answer broke off';
    throw new FairleadError('UNAVAILABLE', `the bundle could not be fetched: ${why}`, { cause });
  }
  return Buffer.concat(chunks);
}

function refused(why: string): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', `the address of the bundle is refused: ${why}`);
}

function refusedAddress({ hostname }: URL): FairleadError {
  return refused(`${hostname} is not on the public internet`);
}

function unavailable({ hostname }: URL, why: string, cause?: unknown): FairleadError {
  return new FairleadError('UNAVAILABLE', `the bundle could not be fetched: ${hostname} ${why}`, { cause });
}
