import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Agent, request } from 'node:https';
import type { Duplex } from 'node:stream';
import { FairleadError, messageOf, toFairleadError } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import {
  fromServer,
  fromTunnel,
  headerPairs,
  impersonationHeaders,
  toKubeStatus,
  type TunnelIdentity,
} from '../core/index.js';

/** Where the kube-apiserver is and how the agent shows itself to it. */
export interface KubeApiTarget {
  readonly host: string;
  readonly port: number;
  readonly caPem: string;
  /** The service account's token, read anew for each request because the kubelet rotates it. */
  token(): Promise<string>;
}

const HEADERS_TIMEOUT_MS = 10_000;
const MAX_HEADER_BYTES = 64 * 1024;

/**
 * The far end of kube-api tunnels: an HTTP server without a port, whose connections are tunnels. Each connection belongs
 * to the identity of its Open for life, and that identity is written on *every* request, after everything that looks
 * like one was removed. A connection without an identity is never served.
 */
export class KubeApiProxy {
  readonly #target: KubeApiTarget;
  readonly #logger: Logger;
  readonly #server: Server;
  readonly #upstream: Agent;
  readonly #identities = new WeakMap<object, TunnelIdentity>();

  constructor(target: KubeApiTarget, logger: Logger) {
    this.#target = target;
    this.#logger = logger;
    this.#upstream = new Agent({ keepAlive: true, maxFreeSockets: 32, ca: target.caPem, minVersion: 'TLSv1.2' });
    this.#server = createServer({
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: 0,
      keepAliveTimeout: 0,
    });
    this.#server.on('request', (incoming, outgoing) => void this.#serve(incoming, outgoing));
    this.#server.on('clientError', (_error, socket) => void socket.destroy());
  }

  /** Serves HTTP/1.1 on an accepted tunnel, as this identity. */
  serve(tunnel: Duplex, identity: TunnelIdentity): void {
    this.#identities.set(tunnel, identity);
    this.#server.emit('connection', tunnel);
  }

  close(): void {
    this.#upstream.destroy();
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const traceId = incoming.headers['audit-id']?.toString() ?? randomUUID();
    incoming.on('error', () => undefined);
    try {
      const identity = this.#identities.get(incoming.socket);
      if (!identity) throw new FairleadError('IDENTITY_REFUSED', 'this tunnel has no identity');
      await this.#forward(incoming, outgoing, identity, await this.#target.token());
    } catch (error) {
      const failure = toFairleadError(error);
      this.#logger.log(failure.kind.logLevel, 'kube.request.failed', {
        traceId,
        code: failure.code,
        reason: messageOf(failure.cause ?? failure),
      });
      answerFailure(outgoing, failure, traceId);
    }
  }

  #forward(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    identity: TunnelIdentity,
    token: string,
  ): Promise<void> {
    const { host, port } = this.#target;
    return new Promise((resolve, reject) => {
      const upstream = request({
        agent: this.#upstream,
        host,
        port,
        method: incoming.method,
        path: incoming.url,
        headers: this.#headers(incoming, identity, token),
        setDefaultHeaders: false,
      });
      outgoing.once('close', () => void upstream.destroy());
      upstream.once('error', (error) => reject(this.#unreachable(error)));
      upstream.once('response', (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, fromServer(answer.rawHeaders)).flushHeaders();
        answer.once('error', () => void outgoing.destroy());
        answer.once('close', () => {
          if (!answer.complete) outgoing.destroy();
          resolve();
        });
        answer.pipe(outgoing);
      });
      upstream.flushHeaders();
      incoming.pipe(upstream);
    });
  }

  #headers(incoming: IncomingMessage, identity: TunnelIdentity, token: string): string[] {
    const { host, port } = this.#target;
    const passed = withoutHost(fromTunnel(incoming.rawHeaders));
    const chunked = incoming.headers['transfer-encoding'] === undefined ? [] : ['Transfer-Encoding', 'chunked'];
    const own = ['Host', `${host.includes(':') ? `[${host}]` : host}:${port}`, 'Authorization', `Bearer ${token}`];
    return [...passed, ...own, ...impersonationHeaders(identity), ...chunked, 'Connection', 'keep-alive'];
  }

  #unreachable(error: Error): FairleadError {
    const { host, port } = this.#target;
    return new FairleadError('TARGET_UNREACHABLE', `the agent cannot reach the kube-apiserver at ${host}:${port}`, {
      cause: error,
    });
  }
}

function withoutHost(raw: readonly string[]): string[] {
  return [...headerPairs(raw)].filter(([name]) => name.toLowerCase() !== 'host').flat();
}

function answerFailure(outgoing: ServerResponse, failure: FairleadError, traceId: string): void {
  if (outgoing.headersSent || outgoing.destroyed) {
    outgoing.destroy();
    return;
  }
  const { httpStatus, body, warning } = toKubeStatus(failure, 'agent', traceId);
  outgoing.writeHead(httpStatus, { 'content-type': 'application/json', 'audit-id': traceId, warning }).end(body);
}
