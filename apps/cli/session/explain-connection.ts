import type { FairleadError } from '@fairlead/errors';
import { failure, passing } from '../failure.js';

interface Explanation {
  readonly what: string;
  readonly next: string;
  /** A server that restarts, or a network that comes back, looks like this, too. */
  readonly mayPass?: true;
}

const UNKNOWN_CA: Explanation = {
  what: 'its certificate comes from an authority that is not trusted here',
  next: 'pass the root of the installation: fairlead login --server URL --ca-file ROOT.pem',
};
const NO_NAME: Explanation = { what: 'its name cannot be resolved', next: 'check the host name and DNS' };
const TOO_SLOW: Explanation = {
  what: 'it did not answer in time',
  next: 'check the address, and firewalls on the way',
  mayPass: true,
};
const NOT_TLS: Explanation = {
  what: 'it does not speak TLS 1.3 there',
  next: 'check the port, and that the URL is the API of Fairlead',
};
const BROKE_OFF: Explanation = { what: 'the connection broke off', next: 'try again', mayPass: true };

/** By the error codes of Node (https://nodejs.org/api/tls.html#x509-certificate-error-codes) and of undici. */
const EXPLANATIONS: Readonly<Record<string, Explanation>> = {
  ECONNREFUSED: {
    what: 'nothing listens there',
    next: 'check the address, and that Fairlead runs there and listens to other machines (Docker Compose: FAIRLEAD_BIND)',
    mayPass: true,
  },
  EHOSTUNREACH: { what: 'there is no way to that host', next: 'check the address and your network', mayPass: true },
  ENETUNREACH: { what: 'there is no way to that network', next: 'check the address and your network', mayPass: true },
  ENOTFOUND: NO_NAME,
  EAI_AGAIN: { ...NO_NAME, mayPass: true },
  ETIMEDOUT: TOO_SLOW,
  UND_ERR_CONNECT_TIMEOUT: TOO_SLOW,
  UND_ERR_HEADERS_TIMEOUT: TOO_SLOW,
  UND_ERR_BODY_TIMEOUT: TOO_SLOW,
  ECONNRESET: BROKE_OFF,
  EPIPE: BROKE_OFF,
  UND_ERR_SOCKET: BROKE_OFF,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_CA,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_CA,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_CA,
  CERT_SIGNATURE_FAILURE: UNKNOWN_CA,
  CERT_UNTRUSTED: UNKNOWN_CA,
  INVALID_CA: UNKNOWN_CA,
  INVALID_PURPOSE: UNKNOWN_CA,
  PATH_LENGTH_EXCEEDED: UNKNOWN_CA,
  CERT_HAS_EXPIRED: {
    what: 'its certificate has expired',
    next: 'check the clock of this machine; else the API could not renew it: see its log',
  },
  CERT_NOT_YET_VALID: { what: 'its certificate is not valid yet', next: 'check the clock of this machine' },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    what: 'its certificate is for another host name',
    next: 'use a name from the certificate in --server, or add this one to FAIRLEAD_API_SERVING_NAMES of keys and api',
  },
  ERR_SSL_WRONG_VERSION_NUMBER: NOT_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NOT_TLS,
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: NOT_TLS,
  EPROTO: NOT_TLS,
};

/** Why a server could not be reached, and what to do about it; marked if it may pass. */
export function explainConnection(server: string, error: unknown): FairleadError {
  const known = codesOf(error).flatMap((code) => EXPLANATIONS[code] ?? [])[0];
  const explanation = known ?? (isTimeout(error) ? TOO_SLOW : undefined);
  const what = explanation?.what ?? (error instanceof Error ? error.message : String(error));
  const next = explanation?.next ?? 'check the address of the server';
  const explained = failure('UNAVAILABLE', `cannot reach ${server}: ${what}`, next, error);
  return explanation?.mayPass ? passing(explained) : explained;
}

/** The codes of an error, of its causes, and of what several attempts at several addresses left. */
function codesOf(error: unknown, depth = 0): string[] {
  if (typeof error !== 'object' || error === null || depth > 4) return [];
  const { code, cause, errors } = error as { code?: unknown; cause?: unknown; errors?: unknown };
  const nested = [cause, ...(Array.isArray(errors) ? (errors as unknown[]) : [])];
  return [...(typeof code === 'string' ? [code] : []), ...nested.flatMap((inner) => codesOf(inner, depth + 1))];
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError');
}
