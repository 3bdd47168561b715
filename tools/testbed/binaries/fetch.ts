import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { request as httpRequest, Agent as HttpAgent, type IncomingMessage } from 'node:http';
import { request as httpsRequest, Agent as HttpsAgent } from 'node:https';
import { Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { TLSSocket } from 'node:tls';
import { TestbedError, messageOf } from '../errors.js';

export interface FetchLimits {
  /** Until the connection (with TLS) stands. */
  readonly connectTimeoutMs: number;
  /** Without a byte, once connected. */
  readonly idleTimeoutMs: number;
  readonly maxRedirects: number;
  /** Of the body. */
  readonly maxBytes: number;
  /** Plain HTTP from this machine itself: for tests. */
  readonly allowHttpLoopback: boolean;
}

export const DEFAULT_LIMITS: FetchLimits = {
  connectTimeoutMs: 5_000,
  idleTimeoutMs: 30_000,
  maxRedirects: 5,
  maxBytes: 512 * 1024 ** 2,
  allowHttpLoopback: false,
};

/** The host could not be reached at all: asking it for something else is pointless. */
class UnreachableError extends TestbedError {}

const unreachable = new Map<string, string>();

/** Why a host could not be reached earlier in this process, or undefined. Four components must not wait four times. */
export function knownUnreachable(url: string): string | undefined {
  return unreachable.get(new URL(url).host);
}

export interface FetchOptions {
  readonly limits: FetchLimits;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: (bytes: number, total: number | undefined) => void;
}

/** Writes what is at an https URL to a file and returns its SHA-256 (hex). A body that ends early or is too long is an error. */
export async function fetchToFile(url: string, path: string, options: FetchOptions): Promise<string> {
  const hash = createHash('sha256');
  const digest = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  await receive(url, options, digest, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
  return hash.digest('hex');
}

/** The text at an https URL. */
export async function fetchText(url: string, options: FetchOptions): Promise<string> {
  const chunks: Buffer[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  await receive(url, options, sink);
  return Buffer.concat(chunks).toString('utf8');
}

async function receive(url: string, options: FetchOptions, ...sinks: Array<Transform | Writable>): Promise<void> {
  const response = await follow(new URL(url), options);
  const declared = response.headers['content-length'];
  const total = declared === undefined ? undefined : Number(declared);
  const bounded = boundedBy(options.limits.maxBytes, url, (bytes) => options.onProgress?.(bytes, total));
  const stages = [response, bounded, ...sinks] as [IncomingMessage, Transform, Writable];
  try {
    // The limit is checked before a byte moves where the server says how much will come.
    if ((total ?? 0) > options.limits.maxBytes) throw new TestbedError(tooLong(url, options.limits.maxBytes));
    await pipeline(stages, options.signal ? { signal: options.signal } : {});
  } catch (cause) {
    response.destroy();
    options.signal?.throwIfAborted();
    throw cause instanceof TestbedError ? cause : new TestbedError(`${url}: ${messageOf(cause)}`, { cause });
  }
}

function boundedBy(maxBytes: number, url: string, onBytes: (bytes: number) => void): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      onBytes(bytes);
      if (bytes > maxBytes) done(new TestbedError(tooLong(url, maxBytes)));
      else done(null, chunk);
    },
  });
}

const tooLong = (url: string, maxBytes: number) => `${url}: longer than ${maxBytes} bytes`;

/** The answer with status 200 at the end of the redirects. */
async function follow(start: URL, options: FetchOptions): Promise<IncomingMessage> {
  let url = start;
  for (let redirects = 0; ; redirects++) {
    requireSecure(url, options.limits);
    const response = await ask(url, options);
    const { statusCode = 0, headers } = response;
    if (statusCode === 200) return response;
    response.destroy();
    const location = statusCode >= 300 && statusCode < 400 ? headers.location : undefined;
    if (location === undefined) throw new TestbedError(`${url.href}: answered ${statusCode}`);
    if (redirects === options.limits.maxRedirects)
      throw new TestbedError(`${start.href}: more than ${redirects} redirects`);
    url = new URL(location, url);
  }
}

function requireSecure(url: URL, limits: FetchLimits): void {
  const loopback = ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
  if (url.protocol === 'https:' || (url.protocol === 'http:' && loopback && limits.allowHttpLoopback)) return;
  throw new TestbedError(`${url.href}: only https is used`);
}

async function ask(url: URL, options: FetchOptions): Promise<IncomingMessage> {
  const before = unreachable.get(url.host);
  if (before !== undefined) throw new UnreachableError(`${url.host}: ${before} (found out earlier)`);
  try {
    return await send(url, options);
  } catch (error) {
    options.signal?.throwIfAborted();
    if (!(error instanceof UnreachableError))
      throw new TestbedError(`${url.href}: ${messageOf(error)}`, { cause: error });
    unreachable.set(url.host, messageOf(error.cause));
    throw error;
  }
}

function send(url: URL, { limits, signal }: FetchOptions): Promise<IncomingMessage> {
  return new Promise((done, fail) => {
    let connected = false;
    const secure = url.protocol === 'https:';
    // A forward proxy is taken from HTTPS_PROXY and NO_PROXY, as curl does.
    const agent = secure ? new HttpsAgent({ proxyEnv: process.env }) : new HttpAgent();
    const asked = (secure ? httpsRequest : httpRequest)(url, { agent, ...(signal ? { signal } : {}) });
    const slow = new Error(`no connection within ${limits.connectTimeoutMs / 1000} s`);
    const timer = setTimeout(() => asked.destroy(slow), limits.connectTimeoutMs);
    const onConnected = () => {
      connected = true;
      clearTimeout(timer);
    };
    asked.once('socket', (socket) => {
      // Through a proxy the socket arrives here with its handshake done.
      if (socket instanceof TLSSocket && socket.authorized) onConnected();
      else socket.once(secure ? 'secureConnect' : 'connect', onConnected);
    });
    asked.setTimeout(limits.idleTimeoutMs, () => asked.destroy(new Error('the server fell silent')));
    asked.once('response', done);
    asked.on('error', (cause) => {
      clearTimeout(timer);
      fail(connected ? cause : new UnreachableError(`${url.host} is not reachable: ${messageOf(cause)}`, { cause }));
    });
    asked.end();
  });
}
