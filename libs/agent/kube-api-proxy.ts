import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ShownStatement } from '@fairlead/tunnel/agent';
import { SignedTime } from '@fairlead/access-statement/signed-time';
import { FairleadError, messageOf, toFairleadError, type ErrorCode } from '@fairlead/errors';
import { bodyFraming, kubeRoute, ordinaryAnswer, toKubeStatus, type TunnelIdentity } from '@fairlead/kube-http';
import { noTracer, type Logger, type Span, type Tracer } from '@fairlead/observability';
import { formatTraceparent, readTraceparent, type TraceContext } from '@fairlead/tunnel/core';
import { assertStands, endWith } from './kube-api/end-with-statement.js';
import { MAX_HEADER_BYTES, type KubeApiTarget } from './kube-api/kube-api-target.js';
import { KubeApiUpstream, without, type Carried, type Sending, type Sent } from './kube-api/kube-api-upstream.js';
import { reviewRequest } from './kube-api/self-review.js';
import { identityWith, planRequest, type ServedTunnel } from './kube-api/stated-requests.js';

export type { KubeApiTarget } from './kube-api/kube-api-target.js';

const HEADERS_TIMEOUT_MS = 10_000;

/**
 * The far end of kube-api tunnels: an HTTP server without a port, whose connections are tunnels. Each connection belongs
 * to the identity and the statement of its Open for life. On *every* request that identity is written, or what the statement gives for this request,
 * after everything that looks like one was removed. A connection without either is never served.
 */
export class KubeApiProxy {
  readonly #target: KubeApiTarget;
  readonly #logger: Logger;
  readonly #onFailed: (code: ErrorCode) => void;
  readonly #tracer: Tracer;
  readonly #server: Server;
  readonly #upstream: KubeApiUpstream;
  readonly #served = new WeakMap<object, ServedTunnel>();
  readonly #time: SignedTime;
  readonly #leaving = new WeakMap<object, () => boolean>();

  /** `onFailed` hears the code of each request that we answer ourselves. */
  constructor(
    target: KubeApiTarget,
    logger: Logger,
    onFailed: (code: ErrorCode) => void = () => undefined,
    tracer: Tracer = noTracer,
    time = new SignedTime(Date.now),
  ) {
    this.#time = time;
    this.#target = target;
    this.#tracer = tracer;
    this.#onFailed = onFailed;
    this.#logger = logger;
    this.#upstream = new KubeApiUpstream(target);
    this.#server = createServer({
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: 0,
      keepAliveTimeout: 0,
    });
    // Their size is limited, not their number: Node drops those beyond a thousand in silence, framing included.
    this.#server.maxHeadersCount = 0;
    // Who ended its direction still wants its answer (PROTOCOL.md, half-close). Node's types do not have it.
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    this.#server.on('request', (incoming, outgoing) => {
      void this.#serve(incoming, outgoing, (sending) => this.#upstream.forward(incoming, outgoing, sending));
    });
    this.#server.on('upgrade', (incoming, tunnel, early) => this.#serveUpgrade(incoming, tunnel, early));
    this.#server.on('clientError', (_error, socket) => void socket.destroy());
  }

  /**
   * Serves HTTP/1.1 on an accepted tunnel, as this identity; `leaving`: whether each answer that begins is to be the last one. With a statement, each
   * request is decided by it, and the tunnel ends when it says, or when it is revoked.
   */
  serve(tunnel: Duplex, identity: TunnelIdentity, leaving?: () => boolean, statement?: ShownStatement): void {
    this.#served.set(tunnel, { identity, statement });
    if (statement) endWith(tunnel, statement, this.#time);
    if (leaving) this.#leaving.set(tunnel, leaving);
    this.#server.emit('connection', tunnel);
  }

  close(): void {
    this.#upstream.close();
  }

  /** A tunnel whose opener asks to upgrade ends with that; so does the connection to the kube-apiserver, which is never shared. */
  #serveUpgrade(incoming: IncomingMessage, tunnel: Duplex, early: Buffer): void {
    let outgoing: ServerResponse;
    try {
      outgoing = ordinaryAnswer(incoming, tunnel);
    } catch (error) {
      // No gateway asks for that.
      tunnel.destroy(toFairleadError(error));
      return;
    }
    const opener = { tunnel, early };
    void this.#serve(incoming, outgoing, (sending) => this.#upstream.upgrade(incoming, outgoing, opener, sending));
  }

  /** `carry` gets what the kube-apiserver is to be sent, without headers of one hop; what it rejects with is told to the opener. */
  async #serve(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    carry: (sending: Sending) => Promise<Carried>,
  ): Promise<void> {
    const requestId = incoming.headers['audit-id']?.toString() ?? randomUUID();
    const caller = callerOf(incoming);
    const span = this.#begin(incoming, caller);
    const { traceId } = span.context;
    incoming.on('error', () => undefined);
    outgoing.on('error', () => undefined);
    try {
      const served = this.#served.get(incoming.socket);
      if (!served) throw new FairleadError('IDENTITY_REFUSED', 'this tunnel has no identity');
      // The gateway keeps no tunnel whose link is to end.
      if (this.#leaving.get(incoming.socket)?.()) outgoing.shouldKeepAlive = false;
      const outcome = await this.#planOf(incoming, served);
      if (outcome.kind === 'answered') {
        outgoing.writeHead(201, { 'content-type': 'application/json' }).end(outcome.body);
        end(span, { status: 201, whole: true });
        return;
      }
      const headers = await this.#upstream.headersOf(incoming, outcome);
      const traced = caller || span.recording ? withTraceparent(headers, span.context) : headers;
      end(span, await carry({ ...outcome, headers: traced }));
    } catch (error) {
      const failure = toFairleadError(error);
      this.#onFailed(failure.code);
      span.end(failure.code);
      this.#logger.log(failure.kind.logLevel, 'kube.request.failed', {
        traceId,
        requestId,
        code: failure.code,
        reason: messageOf(failure.cause ?? failure),
      });
      answerFailure(outgoing, failure, { traceId, requestId });
    }
  }

  /** How the request is to be sent, or how it is answered here. */
  async #planOf(incoming: IncomingMessage, served: ServedTunnel): Promise<Plan> {
    if (served.statement) assertStands(served.statement);
    const { method = '', url = '', rawHeaders } = incoming;
    const plan = planRequest(served, { method, target: url, rawHeaders }, this.#time.nowMs());
    const body = { incoming, framing: bodyFraming(rawHeaders) };
    if (plan.kind === 'pass') return { kind: 'sent', identity: plan.identity, body, ownHeaders: [] };
    if (incoming.headers.upgrade !== undefined) {
      throw new FairleadError('INVALID_ARGUMENT', 'a review of one’s own rights is no request to upgrade');
    }
    const reviewed = await reviewRequest(incoming, plan);
    if (reviewed.kind === 'answered') return reviewed;
    const { groups, headers: ownHeaders, ...sent } = reviewed;
    return { ...sent, kind: 'sent', identity: identityWith(served, groups), ownHeaders };
  }

  #begin(incoming: IncomingMessage, caller: TraceContext | undefined): Span {
    const { host, port } = this.#target;
    const span = this.#tracer.begin('kube-apiserver', 'client', caller, {
      'server.address': host,
      'server.port': port,
    });
    if (!span.recording) return span;
    const { method = '', url = '/' } = incoming;
    const route = kubeRoute(url);
    span.rename(`${method} ${route}`);
    span.set({ 'http.request.method': method, 'http.route': route });
    return span;
  }
}

/** What is to become of a request: sent on as this identity, or answered here. */
type Plan = (Sent & { readonly kind: 'sent' }) | { readonly kind: 'answered'; readonly body: string };

function withTraceparent(headers: readonly string[], context: TraceContext): string[] {
  return [...without('traceparent', headers), 'Traceparent', formatTraceparent(context)];
}

/** The gateway says what the request is part of; one that does not leaves the agent's log without a trace to follow. */
function callerOf({ headers }: IncomingMessage): TraceContext | undefined {
  const traceparent = headers['traceparent'];
  return readTraceparent(typeof traceparent === 'string' ? [traceparent] : []);
}

function end(span: Span, { status, whole }: Carried): void {
  span.set({ 'http.response.status_code': status });
  if (!whole) span.end('TUNNEL_RESET');
  else span.end(status >= 500 ? String(status) : undefined);
}

type RequestIds = Readonly<Record<'traceId' | 'requestId', string>>;

function answerFailure(outgoing: ServerResponse, failure: FairleadError, { traceId, requestId }: RequestIds): void {
  if (outgoing.headersSent || outgoing.destroyed) {
    outgoing.destroy();
    return;
  }
  const { httpStatus, body, warning } = toKubeStatus(failure, 'agent', traceId);
  outgoing.writeHead(httpStatus, { 'content-type': 'application/json', 'audit-id': requestId, warning }).end(body);
}
