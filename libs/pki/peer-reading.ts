import { X509Certificate } from 'node:crypto';
import { Duplex } from 'node:stream';
import { TLSSocket, createSecureContext, rootCertificates } from 'node:tls';
import { BoundedMap } from '@fairlead/limits';

/** What Node has below a TLS socket, as much of it as is needed here. */
interface TlsHandle {
  /** DER of OpenSSL's SSL_SESSION. */
  getSession(): Buffer | undefined;
  /** Its description, of which Node makes a `PeerCertificate`. */
  getPeerCertificate(): object | undefined;
  /** The same as what is below an X509Certificate. */
  getPeerX509Certificate(): object | undefined;
}

/** The symbol under which an X509Certificate keeps Node's native object. */
const BELOW = 'kHandle';
/** The peer's certificate within a session: field [3], explicit (OpenSSL, ssl/ssl_asn1.c). */
const PEER_OF_SESSION = 0xa3;
/** Certificates that are remembered, and how long one may be for that, in bytes: 2 MB, whatever strangers show, as one so long takes 28 KB once it is read. */
const REMEMBERED = 64;
const MAX_REMEMBERED_BYTES = 4_096;

/**
 * Replaces, for the whole process, how Node reads the certificate of a TLS peer: the peer's own alone, of its session, never its chain.
 * Node's own ways do two things that no peer may bring about:
 *
 * - `getPeerX509Certificate` takes CA certificates off the chain that OpenSSL keeps, and never frees them: some 4 KB of each connection
 *   (https://github.com/nodejs/node/issues/65579). A server calls it itself for every peer that it verified.
 * - `getPeerCertificate` ends the process by SIGSEGV at a certificate with a key on a curve that is not NIST's (brainpool, secp256k1), at any
 *   place of the chain. A client calls it itself for every server that it verified.
 *
 * A peer's certificate has no `issuerCertificate` then, and is described by what a host's name is verified by: `raw`, `subject.CN` and
 * `subjectaltname`. Once is enough; again, it does nothing more. Returns how to undo that; nothing, and all is as Node made it, where Node looks
 * different inside.
 */
export function replacePeerReading(): (() => void) | undefined {
  undo ??= replaceReading();
  return undo;
}

let undo: (() => void) | undefined;

function replaceReading(): (() => void) | undefined {
  const prototype = tlsHandles();
  if (!prototype) return undefined;
  const { getPeerCertificate, getPeerX509Certificate } = Object.getOwnPropertyDescriptors(prototype);
  if (!getPeerCertificate?.writable || !getPeerX509Certificate?.writable) return undefined;
  prototype.getPeerX509Certificate = function (this: TlsHandle): object | undefined {
    const leaf = leafOf(this);
    return leaf && below(leaf);
  };
  prototype.getPeerCertificate = function (this: TlsHandle): object | undefined {
    const leaf = leafOf(this);
    return leaf && { raw: leaf.raw, subject: { CN: commonName(leaf) }, subjectaltname: leaf.subjectAltName };
  };
  return () => {
    Object.defineProperties(prototype, { getPeerCertificate, getPeerX509Certificate });
    undo = undefined;
  };
}

/** What the peer showed now, or when the session began that it resumed. One that cannot be read counts as none: who is to show one is refused. */
function leafOf(handle: TlsHandle): X509Certificate | undefined {
  try {
    const session = handle.getSession();
    const der = session && fieldOf(session, PEER_OF_SESSION);
    return der && certificateOf(der);
  } catch {
    return undefined;
  }
}

/** What was read before, by its whole DER. Each connection is asked for its peer twice, by Node and by us, and most peers come again with the certificate they had. */
const remembered = new BoundedMap<string, X509Certificate>({ max: REMEMBERED, overflow: 'forget-oldest' });

function certificateOf(der: Buffer): X509Certificate {
  if (der.length > MAX_REMEMBERED_BYTES) return new X509Certificate(asPem(der));
  const key = der.toString('latin1');
  const certificate = remembered.get(key) ?? new X509Certificate(asPem(der));
  remembered.set(key, certificate);
  return certificate;
}

/** Node looks for PEM first, in DER too: a certificate that has another as PEM in one of its fields would be read as that one. */
function asPem(der: Buffer): string {
  return `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`;
}

/** As Node describes it: a list where there are several. Line ends within a name are escaped. Without a subject there is none, whatever Node's types say. */
function commonName({ subject = '' }: { readonly subject?: string }): string | string[] | undefined {
  const [first, ...others] = subject.split('\n').flatMap((line) => (line.startsWith('CN=') ? [line.slice(3)] : []));
  return first !== undefined && others.length > 0 ? [first, ...others] : first;
}

/** What is in a field of a DER SEQUENCE. */
function fieldOf(sequence: Buffer, tag: number): Buffer | undefined {
  for (let at = elementAt(sequence, 0).start; at < sequence.length;) {
    const { start, end } = elementAt(sequence, at);
    if (sequence[at] === tag) return sequence.subarray(start, end);
    at = end;
  }
  return undefined;
}

/** Where the content of the element at this place is (X.690, 8.1.3; tags of one byte). */
function elementAt(der: Buffer, at: number): { readonly start: number; readonly end: number } {
  const first = der.readUInt8(at + 1);
  if (first < 0x80) return { start: at + 2, end: at + 2 + first };
  const start = at + 2 + (first & 0x7f);
  return { start, end: start + der.readUIntBE(at + 2, first & 0x7f) };
}

/** The prototype of all handles; undefined where this Node looks different inside. */
function tlsHandles(): TlsHandle | undefined {
  try {
    const [anyCertificate = ''] = rootCertificates;
    // With this context, Node does not read all of its own roots.
    const secureContext = createSecureContext({ ca: anyCertificate });
    const nothing = new Duplex({ read: () => undefined });
    const socket = new TLSSocket(nothing, { secureContext }) as TLSSocket & { readonly _handle?: object };
    const prototype = socket._handle && (Object.getPrototypeOf(socket._handle) as TlsHandle);
    socket.destroy();
    const isKnown = typeof prototype?.getSession === 'function' && below(new X509Certificate(anyCertificate));
    return isKnown ? prototype : undefined;
  } catch {
    return undefined;
  }
}

function below(certificate: X509Certificate): object | undefined {
  const key = Object.getOwnPropertySymbols(certificate).find(({ description }) => description === BELOW);
  return key && (certificate as unknown as Record<symbol, object>)[key];
}
