import { X509Certificate } from 'node:crypto';
import { Duplex } from 'node:stream';
import { TLSSocket, rootCertificates } from 'node:tls';

/** What Node has below a TLS socket, as much of it as is needed here. */
interface TlsHandle {
  /** What the peer showed; undefined if nothing. `false`: without a look at its chain. */
  getPeerCertificate(detailed: boolean): { readonly raw?: Buffer } | undefined;
  /** The same as what is below an X509Certificate. */
  getPeerX509Certificate(): object | undefined;
}

/** The symbol under which an X509Certificate keeps Node's native object. */
const BELOW = 'kHandle';

/**
 * Lets this process free the CA certificates that TLS peers show beside their own. Node's `getPeerX509Certificate` takes them off the
 * chain that OpenSSL keeps, and never frees them (https://github.com/nodejs/node/issues/65579); a server calls it itself for
 * every peer whose certificate it verified, so that each connection leaves some 4 KB. Afterwards it reads the peer's own certificate
 * alone, which then has no `issuerCertificate`.
 *
 * For the whole process, before it serves TLS. Returns how to undo that; nothing, and all is as before, where Node looks different inside.
 */
export function freePeerChains(): (() => void) | undefined {
  const prototype = tlsHandles();
  const [anyCertificate = ''] = rootCertificates;
  if (!prototype || !below(new X509Certificate(anyCertificate))) return undefined;
  const own = Object.getOwnPropertyDescriptor(prototype, 'getPeerX509Certificate');
  if (!own || typeof prototype.getPeerCertificate !== 'function') return undefined;
  prototype.getPeerX509Certificate = function (this: TlsHandle): object | undefined {
    const raw = shownTo(this);
    return raw && below(new X509Certificate(raw));
  };
  return () => void Object.defineProperty(prototype, 'getPeerX509Certificate', own);
}

/** A stranger's certificate that Node's older call cannot describe counts as none: who is to show one is refused. It must not end the process. */
function shownTo(handle: TlsHandle): Buffer | undefined {
  try {
    return handle.getPeerCertificate(false)?.raw;
  } catch {
    return undefined;
  }
}

function tlsHandles(): TlsHandle | undefined {
  const nothing = new Duplex({ read: () => undefined });
  const socket = new TLSSocket(nothing) as TLSSocket & { readonly _handle?: object };
  const prototype = socket._handle && (Object.getPrototypeOf(socket._handle) as TlsHandle);
  socket.destroy();
  return prototype;
}

function below(certificate: X509Certificate): object | undefined {
  const key = Object.getOwnPropertySymbols(certificate).find(({ description }) => description === BELOW);
  return key && (certificate as unknown as Record<symbol, object>)[key];
}
