import { messageOf } from '@fairlead/errors';
import { explainTlsFailure, readCaFile, requireLoopback, type ServerTrust } from '@fairlead/pki';
import type { TlsOptions } from '@nats-io/transport-node';

/** Where nats-server is, and how it is known to be the right one. */
export interface NatsServer extends ServerTrust {
  /** `tls://host:port` (or `nats://`), or several separated by commas. */
  readonly url: string;
}

/**
 * How to protect the connection; null: not at all. With a CA file, or with `tls://` (the system's CAs then), it is TLS 1.3
 * from the first byte: the server's INFO is not read before, so nobody on the way can offer plain text instead.
 * Throws INVALID_ARGUMENT for a CA file that cannot be read, and for plain text to another machine that nobody asked for.
 */
export function natsServerTls({ url, caFile, insecurePlaintext }: NatsServer): TlsOptions | null {
  const servers = url.split(',');
  if (caFile === undefined && !servers.some((server) => /^\s*tls:/i.test(server))) {
    for (const server of servers) requireLoopback(hostOf(server), insecurePlaintext, 'FAIRLEAD_NATS_CA_FILE');
    return null;
  }
  if (caFile !== undefined) readCaFile(caFile);
  const tls = { handshakeFirst: true, minVersion: 'TLSv1.3', ...(caFile === undefined ? {} : { caFile }) };
  return tls;
}

const SILENCE = new Set(['ConnectionError', 'TimeoutError']);

/** Why a server could not be connected to, for whoever has to put it right. */
export function explainNatsFailure(error: unknown, { caFile }: NatsServer, tls: TlsOptions | null): string {
  const reason = messageOf(error);
  if (tls === null) {
    // It waits for a handshake, and hangs up; the client library has no cause to give then.
    const silent = error instanceof Error && error.cause === undefined && SILENCE.has(error.name);
    return silent ? `it says nothing (${reason}); if it expects TLS, set FAIRLEAD_NATS_CA_FILE` : reason;
  }
  const why = explainTlsFailure(error, caFile);
  return why === undefined ? reason : `the server is not trusted: ${why} (${reason})`;
}

function hostOf(server: string): string {
  const text = server.trim();
  return URL.parse(text.includes('://') ? text : `nats://${text}`)?.hostname ?? text;
}
