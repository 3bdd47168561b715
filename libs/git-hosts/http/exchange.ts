import { FairleadError } from '@fairlead/errors';
import { errors, type Agent, type Dispatcher } from 'undici';
import type { Headers } from './rate-limit.js';

export interface Request {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed; undefined when there is none or, with a status of 400 and above, when it is not JSON. */
  readonly body: unknown;
}

interface ExchangeLimits {
  readonly maxBodyBytes: number;
  readonly requestTimeoutMs: number;
}

/**
 * One request and its whole answer, bounded in time (by the signal) and bytes; no redirect is followed here. Throws the
 * signal's reason, UNTRUSTED_PEER, PROTOCOL_ERROR, or UNAVAILABLE for everything that a network does.
 */
export async function exchange(
  agent: Agent,
  request: Request,
  limits: ExchangeLimits,
  signal: AbortSignal,
): Promise<Answer> {
  signal.throwIfAborted();
  try {
    const { url, method, headers, body } = request;
    const answer = await agent.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method,
      headers: { ...headers },
      ...(body === undefined ? {} : { body }),
      headersTimeout: limits.requestTimeoutMs,
      bodyTimeout: limits.requestTimeoutMs,
      signal,
    });
    return await readAnswer(answer, limits.maxBodyBytes);
  } catch (error) {
    signal.throwIfAborted();
    throw networkError(error);
  }
}

async function readAnswer(answer: Dispatcher.ResponseData, maxBodyBytes: number): Promise<Answer> {
  const headers = joined(answer.headers);
  const status = answer.statusCode;
  const bytes = await readBody(answer, headers, maxBodyBytes);
  return { status, headers, body: bytes === null ? undefined : parse(bytes, status) };
}

/** Null when the body is of an error and too large to be of use. */
async function readBody(
  answer: Dispatcher.ResponseData,
  headers: Headers,
  maxBodyBytes: number,
): Promise<Buffer | null> {
  const encoding = headers['content-encoding'];
  const failed = answer.statusCode >= 300;
  const refusal =
    encoding !== undefined && encoding !== 'identity' ? 'answered compressed, which was not asked for' : undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  if (refusal === undefined) {
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBodyBytes) break;
      chunks.push(chunk);
    }
    if (size <= maxBodyBytes) return Buffer.concat(chunks);
  }
  // The connection is given up with it: the rest is not read.
  answer.body.on('error', () => {}).destroy();
  if (failed) return null;
  throw new FairleadError('PROTOCOL_ERROR', `the Git host ${refusal ?? `answered more than ${maxBodyBytes} bytes`}`);
}

function parse(bytes: Buffer, status: number): unknown {
  if (bytes.length === 0) return undefined;
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown;
  } catch {
    // A proxy's error page, or GitLab's "Retry later".
    if (status >= 300) return undefined;
    throw new FairleadError('PROTOCOL_ERROR', 'the Git host answered something that is not JSON');
  }
}

function joined(headers: Dispatcher.ResponseData['headers']): Headers {
  const entries = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name.toLowerCase(), Array.isArray(value) ? value.join(', ') : value] as const],
  );
  return Object.fromEntries(entries);
}

function networkError(error: unknown): FairleadError {
  if (error instanceof FairleadError) return error;
  const { code = '' } = error as { code?: string };
  const details = /^[A-Z0-9_]{1,64}$/.test(code) ? { cause: code } : {};
  if (isDistrust(code))
    return new FairleadError('UNTRUSTED_PEER', "the Git host's certificate is not to be trusted", { details });
  if (code.startsWith('HPE_') || error instanceof errors.HeadersOverflowError)
    return new FairleadError('PROTOCOL_ERROR', 'the Git host does not speak HTTP as it should', { details });
  return new FairleadError('UNAVAILABLE', 'the Git host could not be reached, or broke off', { details });
}

/** OpenSSL's names of what is wrong with a chain (https://nodejs.org/api/tls.html#x509-certificate-error-codes). */
function isDistrust(code: string): boolean {
  return /CERT|^ERR_TLS_|^ERR_SSL_|^HOSTNAME_MISMATCH$|^UNABLE_TO_|^INVALID_(?:CA|PURPOSE)$|^PATH_LENGTH_EXCEEDED$/.test(
    code,
  );
}
