import type { IncomingMessage } from 'node:http';
import { get, type RequestOptions } from 'node:https';
import { BundleLimits } from '@fairlead/desired-state';
import { FairleadError, messageOf } from '@fairlead/errors';
import { AddressRanges, checkUrl, checkedLookup, type OutboundRules } from '@fairlead/outbound';

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
  const rules = rulesOf(options);
  let target = checkUrl(url, rules);
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const answer = await request(target, { options, rules }, signal);
    const { statusCode = 0, headers } = answer;
    if (statusCode === 200) return readBounded(answer, signal);
    answer.destroy();
    if (![301, 302, 303, 307, 308].includes(statusCode) || !headers.location) {
      throw unavailable(target, `answered ${statusCode}`);
    }
    target = checkUrl(URL.parse(headers.location, target.href)?.href ?? '', rules);
  }
  throw unavailable(target, `was reached by more than ${MAX_REDIRECTS} redirects`);
}

function rulesOf({ privateAddresses = false }: FetchOptions): OutboundRules {
  return { allowed: privateAddresses ? AddressRanges.ALL : AddressRanges.NONE, what: 'the address of the bundle' };
}

interface Asking {
  readonly options: FetchOptions;
  readonly rules: OutboundRules;
}

function request(url: URL, { options, rules }: Asking, signal: AbortSignal): Promise<IncomingMessage> {
  const settings: RequestOptions = {
    signal,
    agent: false,
    lookup: checkedLookup(rules, url),
    minVersion: 'TLSv1.2',
    headers: { accept: '*/*', 'user-agent': 'fairlead', 'accept-encoding': 'identity' },
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  };
  return new Promise((resolve, reject) => {
    get(url, settings, resolve)
      .on('error', (error) => {
        reject(error instanceof FairleadError ? error : unavailable(url, messageOf(error), error));
      })
      // Also after a 101, of which Node tells nothing else.
      .on('close', () => reject(unavailable(url, 'it ended without an answer')));
  });
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

function unavailable({ hostname }: URL, why: string, cause?: unknown): FairleadError {
  return new FairleadError('UNAVAILABLE', `the bundle could not be fetched: ${hostname} ${why}`, { cause });
}
