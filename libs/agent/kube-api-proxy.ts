import { randomUUID } from 'node:crypto';
import { createServer, type ClientRequest, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Agent, request } from 'node:https';
import type { Duplex } from 'node:stream';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { ShownStatement } from '@fairlead/tunnel/agent';
import { SignedTime } from '@fairlead/access-statement/signed-time';
import { FairleadError, messageOf, toFairleadError, type ErrorCode } from '@fairlead/errors';
import {
  bodyFraming,
  fromServer,
  fromTunnel,
  headerPairs,
  impersonationHeaders,
  kubeRoute,
  ordinaryAnswer,
  readUpgrade,
  relayAnswer,
  requestHop,
  requestUpgrade,
  switchProtocols,
  tellUpstreamMs,
  toKubeStatus,
  upgradeHeaders,
  type BodyFraming,
  type TunnelIdentity,
  type UpstreamAnswer,
  type UpstreamRequest,
} from '@fairlead/kube-http';
import { noTracer, type Logger, type Span, type Tracer } from '@fairlead/observability';
import { formatTraceparent, readTraceparent, type TraceContext } from '@fairlead/tunnel/core';
import { bridge } from '@fairlead/tunnel/link';
import { assertStands, endWith } from './kube-api/end-with-statement.js';
import { Http2Connections } from './kube-api/http2-connections.js';
import { ImpersonationRights } from './kube-api/impersonation-rights.js';
import type { KubeApiTarget } from './kube-api/kube-api-target.js';
import { readAnswer, reviewRequest, withHeaders, type SentBody } from './kube-api/self-review.js';
import { namedByExtra } from './kube-api/named-by-extra.js';
import { identityWith, planRequest, type ServedTunnel } from './kube-api/stated-requests.js';

export type { KubeApiTarget } from './kube-api/kube-api-target.js';

const HEADERS_TIMEOUT_MS = 10_000;
/** Above the door's limit, so that what the gateway adds to a head it let in fits too. */
const MAX_HEADER_BYTES = 128 * 1024;

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
  /** Made once: the memory of one that is made for each connection is not seen by the collector, and stays for long. */
  readonly #tls: { readonly secureContext: SecureContext };
  readonly #http2: Http2Connections;
  readonly #rights: ImpersonationRights;
  /** Where the kube-apiserver does not speak HTTP/2: the connections of each tunnel, as of HTTP/1.1 each belongs to one identity. */
  readonly #http1 = new WeakMap<Duplex, Agent>();
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
    const secureContext = createSecureContext({ ca: target.caPem, minVersion: 'TLSv1.2' });
    this.#tls = { secureContext };
    this.#http2 = new Http2Connections({ ...target, secureContext }, () => performance.now());
    this.#rights = new ImpersonationRights(target, () => performance.now());
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
      void this.#serve(incoming, outgoing, (sending) => this.#forward(incoming, outgoing, sending));
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
    this.#http2.close();
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
    void this.#serve(incoming, outgoing, (sending) => this.#upgrade(incoming, outgoing, { tunnel, early, sending }));
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
      const headers = this.#headers(incoming, outcome, await this.#target.token());
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

  async #forward(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    { headers, body, identity, rewrite }: Sending,
  ): Promise<Carried> {
    const { framing } = body;
    const isHttp2 = await this.#http2.isSpoken().catch((error: unknown) => {
      throw this.#unreachable(error as Error);
    });
    const beganMs = performance.now();
    const { answer, upstream } = await requestHop<UpstreamRequest>({
      ...body,
      server: 'the kube-apiserver',
      begin: (fresh) => {
        const begun = isHttp2
          ? this.#http2.request({ incoming, headers, hasBody: framing !== 'none', fresh })
          : this.#overHttp1(incoming, headers, framing, fresh);
        outgoing.once('close', () => void begun.destroy());
        begun.once('close', () => {
          // What the kube-apiserver did not take of the request nobody does, and the gateway must not wait for that.
          body.incoming.unpipe(begun);
          body.incoming.resume();
        });
        return begun;
      },
      awaited: () => !outgoing.headersSent && !outgoing.destroyed,
      failureOf: (error) => this.#unreachable(error),
    });
    const tookMs = performance.now() - beganMs;
    try {
      await this.#explainRefusal(identity, answer);
      if (rewrite && answer.statusCode === 201) return await rewriteAnswer(answer, outgoing, rewrite);
      return await passAnswer(answer, outgoing, tellUpstreamMs(tookMs));
    } catch (error) {
      upstream.destroy();
      throw error;
    }
  }

  #overHttp1(
    incoming: IncomingMessage,
    headers: readonly string[],
    framing: BodyFraming,
    fresh: boolean,
  ): ClientRequest {
    const tunnel = incoming.socket;
    const kept = this.#http1.get(tunnel) ?? new Agent({ ...this.#tls, keepAlive: true });
    if (!this.#http1.has(tunnel)) {
      this.#http1.set(tunnel, kept);
      tunnel.once('close', () => kept.destroy());
    }
    const agent = fresh ? new Agent({ ...this.#tls, keepAlive: false }) : kept;
    const chunked = framing === 'chunked' ? ['Transfer-Encoding', 'chunked'] : [];
    return this.#request(incoming, agent, [...headers, ...chunked, 'Connection', 'keep-alive']);
  }

  #request({ method, url }: IncomingMessage, agent: Agent, headers: readonly string[]): ClientRequest {
    const { host, port } = this.#target;
    const [path, maxHeaderSize] = [url, MAX_HEADER_BYTES];
    return request({ agent, host, port, method, path, headers: [...headers], setDefaultHeaders: false, maxHeaderSize });
  }

  async #upgrade(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    { tunnel, early, sending: { headers, identity } }: Upgrading,
  ): Promise<Carried> {
    const upgrade = readUpgrade(incoming);
    const agent = new Agent({ ...this.#tls, keepAlive: false });
    const upstream = this.#request(incoming, agent, [...headers, ...upgradeHeaders(upgrade)]);
    const onOpenerGone = (): void => void upstream.destroy();
    tunnel.once('close', onOpenerGone);
    const answered = await requestUpgrade(upstream, upgrade, 'the kube-apiserver').catch((error: unknown) => {
      throw error instanceof FairleadError ? error : this.#unreachable(error as Error);
    });
    if (answered.kind === 'answered') {
      await this.#explainRefusal(identity, answered.answer);
      return passAnswer(answered.answer, outgoing);
    }
    tunnel.off('close', onOpenerGone);
    const { connection } = answered;
    switchProtocols(outgoing, tunnel, upgrade, answered.headers);
    if (early.length > 0) tunnel.unshift(early);
    connection.allowHalfOpen = true;
    const { cause } = await bridge(connection, tunnel, () => void connection.destroy());
    return { status: 101, whole: cause === 'COMPLETE' };
  }

  /** Throws in place of a 403 that was meant for the agent and not for the user. The answer waits meanwhile, unread. */
  async #explainRefusal(identity: TunnelIdentity, answer: UpstreamAnswer): Promise<void> {
    if (answer.statusCode !== 403) return;
    answer.on('error', () => undefined);
    try {
      await this.#rights.assertHeld(identity);
    } catch (error) {
      answer.destroy();
      throw error;
    }
    if (answer.destroyed) throw new FairleadError('TUNNEL_RESET', 'the kube-apiserver broke off its answer');
  }

  #headers(incoming: IncomingMessage, { identity, ownHeaders }: Sent, token: string): string[] {
    const { host, port, userNames } = this.#target;
    const unchanged = without('host', fromTunnel(incoming.rawHeaders));
    const passed = ownHeaders.length === 0 ? unchanged : withHeaders(unchanged, ownHeaders);
    const own = ['Host', `${host.includes(':') ? `[${host}]` : host}:${port}`, 'Authorization', `Bearer ${token}`];
    return [...passed, ...own, ...impersonationHeaders(userNames === 'extra' ? namedByExtra(identity) : identity)];
  }

  #unreachable(error: Error): FairleadError {
    const { host, port } = this.#target;
    return new FairleadError('TARGET_UNREACHABLE', `the agent cannot reach the kube-apiserver at ${host}:${port}`, {
      cause: error,
    });
  }
}

/** What is to become of a request: sent on as this identity, or answered here. */
type Plan = Sent | { readonly kind: 'answered'; readonly body: string };

interface Sent {
  readonly kind: 'sent';
  readonly identity: TunnelIdentity;
  readonly body: SentBody;
  /** In the place of the request's own. */
  readonly ownHeaders: readonly string[];
  /** What its answer is passed on as; absent: as it is. */
  readonly rewrite?: (answer: string) => string;
}

interface Sending extends Sent {
  /** All that the kube-apiserver is sent. */
  readonly headers: readonly string[];
}

interface Upgrading {
  readonly tunnel: Duplex;
  /** What came behind the request's head. */
  readonly early: Buffer;
  readonly sending: Sending;
}

/** How a request went that the kube-apiserver answered. */
interface Carried {
  readonly status: number;
  /** One that broke off is not. */
  readonly whole: boolean;
}

/** Resolves when the answer was passed on or broke off; then the gateway's side is broken off too, never ended cleanly. */
async function passAnswer(
  answer: UpstreamAnswer,
  outgoing: ServerResponse,
  own: readonly string[] = [],
): Promise<Carried> {
  const status = answer.statusCode ?? 502;
  outgoing.writeHead(status, [...fromServer(answer.rawHeaders), ...own]);
  return { status, whole: await relayAnswer(answer, outgoing, () => void outgoing.destroy()) };
}

/** An answer that is read whole, and passed on as something else. */
async function rewriteAnswer(
  answer: UpstreamAnswer,
  outgoing: ServerResponse,
  rewrite: (answer: string) => string,
): Promise<Carried> {
  const body = rewrite(await readAnswer(answer));
  outgoing.writeHead(201, { 'content-type': 'application/json' }).end(body);
  return { status: 201, whole: true };
}

const without = (name: string, raw: readonly string[]): string[] =>
  [...headerPairs(raw)].filter(([each]) => each.toLowerCase() !== name).flat();

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
