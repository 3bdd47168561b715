import type { OutgoingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { getCACertificates } from 'node:tls';
import { replacePeerReading } from '@fairlead/pki/peer-reading';
import type { ProxyConfig } from '../config.js';

export const CONNECT_TIMEOUT_MS = 5_000;
export const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** Whom to trust, and by which way to go. */
export interface Reaching {
  /** PEM; undefined: the roots of Node and of the system. */
  readonly certificateAuthority?: string | undefined;
  readonly proxy?: ProxyConfig | undefined;
}

export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly headers: OutgoingHttpHeaders;
  readonly body: string | Buffer | null;
  readonly signal: AbortSignal;
}

/** What of an answer of any length is waited for. */
export interface StreamRequest {
  readonly headers: OutgoingHttpHeaders;
  /** Given up when nothing comes for so long. */
  readonly idleMs: number;
}

export interface StreamedAnswer {
  readonly status: number;
  /** Fails where it breaks off. Destroyed by whoever has enough. */
  readonly body: Readable;
}

/** Sends requests to servers of ours. No redirect is followed. Rejects with the errors of Node, or of undici: see `explainConnection`. */
export interface Transport {
  send(url: URL, request: Request): Promise<{ readonly status: number; readonly text: string }>;
  /** A GET whose answer comes as it is made. */
  open(url: URL, request: StreamRequest): Promise<StreamedAnswer>;
  destroy(): Promise<void>;
}

/** Whom a TLS connection trusts. It is made only with this: before Node reads a certificate, how it does so is made safe. */
export function trustedBy({ certificateAuthority }: Reaching): string | string[] {
  replacePeerReading();
  return certificateAuthority ?? [...getCACertificates('default'), ...getCACertificates('system')];
}
