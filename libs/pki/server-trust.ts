import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { FairleadError, messageOf } from '@fairlead/errors';
import { splitPem } from './pem.js';

/** How a server that one of our processes connects to is known to be the right one. */
export interface ServerTrust {
  /** PEM of the CA that the server's certificate must come from; read again for each connection. */
  readonly caFile?: string | undefined;
  /** Allows plain text to other machines. Default false: to loopback only. */
  readonly insecurePlaintext?: boolean | undefined;
}

/**
 * The certificates of the CA that a server's certificate must come from. Throws INVALID_ARGUMENT if the file cannot be
 * read or holds none.
 */
export function readCaFile(path: string): string {
  try {
    const pem = readFileSync(path, 'utf8');
    const certificates = splitPem(pem).map((each) => new X509Certificate(each));
    if (certificates.length > 0) return pem;
  } catch (cause) {
    throw new FairleadError('INVALID_ARGUMENT', `cannot read the CA file ${path}: ${messageOf(cause)}`, { cause });
  }
  throw new FairleadError('INVALID_ARGUMENT', `the CA file ${path} holds no certificate`);
}

/**
 * Throws INVALID_ARGUMENT unless nobody but this machine can read what goes to `host`, or whoever configured it says that
 * he does not mind. `setting` names what would switch TLS on.
 */
export function requireLoopback(host: string, insecurePlaintext: boolean | undefined, setting: string): void {
  if (insecurePlaintext === true || isLoopback(host)) return;
  throw new FairleadError(
    'INVALID_ARGUMENT',
    `refusing to speak plain text to ${host}: set ${setting}, or FAIRLEAD_INSECURE_PLAINTEXT=true if this network is protected otherwise`,
  );
}

/** 127.0.0.0/8, ::1 (with or without brackets) and localhost. */
export function isLoopback(host: string): boolean {
  const plain = host.replaceAll(/[[\]]/g, '').toLowerCase();
  return plain === 'localhost' || plain === '::1' || (isIP(plain) === 4 && plain.startsWith('127.'));
}

const UNKNOWN_ISSUER = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_SIGNATURE_FAILURE',
]);
/** What OpenSSL says about bytes that are no TLS record, and about a server that speaks older versions only. */
const NO_TLS = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG', 'EPROTO']);
const TOO_OLD = new Set(['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', 'ERR_SSL_UNSUPPORTED_PROTOCOL']);

/** What to do about a handshake with a server that failed; undefined if that is not what failed. */
export function explainTlsFailure(error: unknown, caFile: string | undefined): string | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code } = at as NodeJS.ErrnoException;
    if (code === undefined) continue;
    if (UNKNOWN_ISSUER.has(code)) return `its certificate is not from ${caFile ?? 'a CA that this system trusts'}`;
    if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'its certificate is for other names';
    if (code === 'CERT_HAS_EXPIRED') return 'its certificate has expired';
    if (NO_TLS.has(code)) return 'it does not answer with TLS';
    if (TOO_OLD.has(code)) return 'it does not speak TLS 1.3';
  }
  return undefined;
}
