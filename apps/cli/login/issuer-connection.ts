import { BlockList, isIP } from 'node:net';
import { FairleadError, oneLine } from '@fairlead/errors';
import {
  AuthorizationResponseError,
  ClientError,
  None,
  ResponseBodyError,
  allowInsecureRequests,
  customFetch,
  discovery,
  type Configuration,
  type CustomFetch,
} from 'openid-client';
import { fetch, type RequestInit } from 'undici';
import type { ProxyConfig } from '../config.js';
import { failure, passing } from '../failure.js';
import { dispatcherFor } from '../session/dispatcher.js';
import { explainConnection } from '../session/explain-connection.js';
import type { KnownIssuer } from '../session/login-store.js';

const REQUEST_TIMEOUT_SECONDS = 10;
const MAX_ANSWER_BYTES = 1024 * 1024;
const MAX_SHOWN_LENGTH = 200;

/** What an issuer gave; both are secrets. */
export interface IssuerTokens {
  readonly idToken: string;
  /** Undefined: it gives none, or the one before stays good. */
  readonly refreshToken: string | undefined;
}

/** An issuer whose discovery document was read. */
export interface IssuerConnection extends AsyncDisposable {
  readonly config: Configuration;
}

/**
 * Reads what an issuer says of itself (OpenID Connect Discovery). UNAVAILABLE, marked as passing, if it cannot be reached now; PROTOCOL_ERROR for
 * what is no issuer, or another one.
 */
export async function connectIssuer(issuer: KnownIssuer, proxy: ProxyConfig | undefined): Promise<IssuerConnection> {
  const url = new URL(issuer.url);
  const isPlain = url.protocol === 'http:';
  if (!isPlain && url.protocol !== 'https:') throw insecure(issuer);
  if (isPlain && !isLoopback(url.hostname)) throw insecure(issuer);
  const dispatcher = dispatcherFor(
    { certificateAuthority: issuer.certificateAuthority, proxy: isLoopback(url.hostname) ? undefined : proxy },
    { minVersion: 'TLSv1.2', maxAnswerBytes: MAX_ANSWER_BYTES },
  );
  const ask = (async (to, options) => fetch(to, { ...options, dispatcher } as RequestInit)) as CustomFetch;
  try {
    const config = await discovery(url, issuer.clientId, undefined, None(), {
      [customFetch]: ask,
      timeout: REQUEST_TIMEOUT_SECONDS,
      execute: isPlain ? [allowInsecureRequests] : [],
    });
    return { config, [Symbol.asyncDispose]: () => dispatcher.destroy() };
  } catch (error) {
    await dispatcher.destroy();
    throw explainIssuer(issuer, error);
  }
}

/** A page of the issuer that may be opened: HTTPS, or this machine's own. PROTOCOL_ERROR otherwise. */
export function pageOf(issuer: Pick<KnownIssuer, 'name'>, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  if (url && isSafe) return url.href;
  throw failure('PROTOCOL_ERROR', `${issuer.name} names a page that is not https://`, ASK_ADMINISTRATOR);
}

/** Whether an issuer says that what was shown is worth nothing, now and later. */
export function isRefused(error: FairleadError): boolean {
  return error.details?.refused === true;
}

/** Why an issuer did not do it, without anything secret. What may pass is marked, and so is what is worth nothing any more. */
export function explainIssuer({ name, url }: Pick<KnownIssuer, 'name' | 'url'>, error: unknown): FairleadError {
  if (error instanceof FairleadError) return error;
  if (error instanceof AuthorizationResponseError) {
    return failure('FORBIDDEN', `${name} did not log you in: ${saidBy(error)}`, 'fairlead login', error);
  }
  if (error instanceof ResponseBodyError)
    return isOverloaded(error.status) ? away(name, error.status) : refusal(name, error);
  if (error instanceof ClientError) return explainUnusual(name, error);
  const connection = explainConnection(url, error);
  // What it says of our own root is not about an issuer's.
  const isAboutRoot = String(connection.details?.next).includes('--ca-file');
  return isAboutRoot ? failure('UNAVAILABLE', connection.message, ASK_ADMINISTRATOR, error) : connection;
}

const ASK_ADMINISTRATOR = 'ask an administrator of this installation to look at the issuer';

function explainUnusual(name: string, error: ClientError): FairleadError {
  if (error.code === 'OAUTH_TIMEOUT') {
    return passing(failure('UNAVAILABLE', `${name} did not answer in time`, 'try again', error));
  }
  const status = (error.cause as { status?: unknown } | undefined)?.status;
  if (typeof status === 'number' && isOverloaded(status)) return away(name, status);
  const what = `${name} answers otherwise than an issuer should: ${shown(error.message)}`;
  return failure('PROTOCOL_ERROR', what, ASK_ADMINISTRATOR, error);
}

function isOverloaded(status: number): boolean {
  return status >= 500 || status === 429;
}

function away(name: string, status: number): FairleadError {
  return passing(failure('UNAVAILABLE', `${name} answers with HTTP ${status}`, 'try again'));
}

function refusal(name: string, error: ResponseBodyError): FairleadError {
  const { code, message, details } = failure('UNAUTHENTICATED', `${name} refuses: ${saidBy(error)}`, 'fairlead login');
  return new FairleadError(code, message, { details: { ...details, refused: true }, cause: error });
}

/** `access_denied (somebody clicked no)`. */
function saidBy({ error, error_description: description }: { error: string; error_description?: string }): string {
  return description === undefined ? shown(error) : `${shown(error)} (${shown(description)})`;
}

function shown(text: string): string {
  return oneLine(text).slice(0, MAX_SHOWN_LENGTH);
}

function insecure({ name, url }: KnownIssuer): FairleadError {
  return failure('PROTOCOL_ERROR', `the issuer ${name} is at ${url}, which is not https://`, ASK_ADMINISTRATOR);
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8);
LOOPBACK.addAddress('::1', 'ipv6');

function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const version = isIP(host);
  return host === 'localhost' || (version !== 0 && LOOPBACK.check(host, version === 6 ? 'ipv6' : 'ipv4'));
}
