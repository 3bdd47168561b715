import { request, type Agent, type ClientRequest } from 'node:http';
import { constants, type Http2ServerRequest } from 'node:http2';
import { FairleadError, messageOf } from '@fairlead/errors';
import {
  bodyFraming,
  fromClient,
  fromServer,
  headerPairs,
  headerValues,
  isLongRunning,
  isWatch,
  locatedWithin,
  relayAnswer,
  requestHop,
  upstreamMs,
  withAuditId,
  type BodyFraming,
  type HopAnswer,
  type UpstreamAnswer,
} from '@fairlead/kube-http';
import { formatTraceparent } from '@fairlead/tunnel/core';
import type { Passage } from '../../passage/passage.js';
import type { Admission } from './admission.js';
import type { DoorRequest, DoorResponse } from './door-request.js';
import { LINGER_MS, whenSent } from './request-rest.js';
import { isLeft, leaveSession } from './session-sockets.js';
import { lostItsWay, wayOf, type TunnelPool, type TunnelRequestOptions } from './tunnel-pools.js';

/** How long a request with an end of its own may take until the answer's headers. */
export const ANSWER_TIMEOUT_MS = 75_000;
/** What a kube-apiserver may answer: Node's default of 16 KiB is less than some Warnings take. */
const MAX_ANSWER_HEADER_BYTES = 128 * 1024;

export interface Exchange {
  readonly incoming: DoorRequest;
  readonly outgoing: DoorResponse;
  readonly admission: Admission;
  readonly passage: Passage;
  readonly tunnels: TunnelPool;
  /** Bodies, counted up as they go. */
  readonly bytes: { up: number; down: number };
  /** Ends the request as long as the answer has not begun. */
  readonly signal: AbortSignal;
  /** Breaks off an answer that has begun, as this replica leaves. */
  readonly leaving: AbortSignal;
}

/**
 * Sends a request through a tunnel and its answer back, both streamed, undecoded and full duplex. Resolves with the
 * status when the answer is complete, and rejects when it could not begin (the caller then answers) or broke off.
 */
export async function forward(exchange: Exchange): Promise<number> {
  const { incoming, outgoing, admission, bytes, passage, leaving } = exchange;
  const { answer, upstream } = await ask(exchange);
  passage.span.event('answered');
  passage.connected(upstreamMs(answer.rawHeaders));
  answer.on('data', (chunk: Buffer) => void (bytes.down += chunk.length));
  try {
    const { below, target } = admission.address;
    const mayJustEnd = endsAnywhere(incoming, target, answer);
    const tunnel = upstream.socket;
    const { requestId } = passage;
    leaving.addEventListener('abort', () => upstream.destroy());
    const status = await passAnswer(
      answer,
      outgoing,
      { below, requestId },
      {
        justEnds: () => mayJustEnd && (leaving.aborted || lostItsWay(tunnel)),
        breakOff: () => (leaving.aborted ? breakOffLeaving(outgoing, leaving.reason) : breakOff(outgoing)),
      },
    );
    await whenSent(incoming, upstream);
    return status;
  } catch (error) {
    upstream.destroy();
    throw error;
  }
}

/** A tunnel of the pool may have died while idle, and any may lose its agent: the request may be sent again, each time on one of its own (`requestHop`). */
async function ask(exchange: Exchange): Promise<HopAnswer<ClientRequest>> {
  const { incoming, outgoing, admission, bytes, passage } = exchange;
  const framing = framingOf(incoming);
  let upstream: ClientRequest | undefined;
  const limit = isLongRunning(admission.address.target)
    ? undefined
    : setTimeout(() => upstream?.destroy(tooSlow()), ANSWER_TIMEOUT_MS);
  const onClientGone = (): void => {
    passage.peerLeft();
    upstream?.destroy(new FairleadError('TUNNEL_RESET', 'the client went away'));
  };
  outgoing.once('close', onClientGone);
  try {
    const answered = requestHop({
      incoming,
      framing,
      server: 'the far end',
      begin: (fresh) => (upstream = begin(exchange, framing, fresh)),
      awaited: () => !outgoing.headersSent && !outgoing.destroyed,
      // One may be gone before the request has it.
      lost: ({ socket }, error) => (socket === null ? isReset(error) : lostItsWay(socket)),
      failureOf: (error, { socket }) => asFailure(error, socket !== null),
    });
    if (framing !== 'none') incoming.on('data', (chunk: Buffer) => void (bytes.up += chunk.length));
    return await answered;
  } finally {
    clearTimeout(limit);
    outgoing.off('close', onClientGone);
  }
}

function isReset(error: Error): boolean {
  return error instanceof FairleadError && error.code === 'TUNNEL_RESET';
}

function begin(exchange: Exchange, framing: BodyFraming, fresh: boolean): ClientRequest {
  const { tunnels } = exchange;
  return requestThrough(fresh ? tunnels.fresh() : tunnels, exchange, upstreamHeaders(exchange, framing));
}

/** Begins a request to the kube-apiserver, through a tunnel of this pool. */
export function requestThrough(
  agent: Agent,
  { incoming, admission, passage, signal }: Pick<Exchange, 'incoming' | 'admission' | 'passage' | 'signal'>,
  headers: readonly string[],
): ClientRequest {
  const options: TunnelRequestOptions = {
    agent,
    method: incoming.method,
    path: admission.address.target,
    headers,
    setDefaultHeaders: false,
    maxHeaderSize: MAX_ANSWER_HEADER_BYTES,
    signal,
    trace: passage.span.context,
  };
  const upstream = request(options);
  upstream.once('socket', (tunnel) => passage.opened({ way: wayOf(tunnel) }));
  return upstream;
}

function upstreamHeaders({ incoming, admission, passage }: Exchange, framing: BodyFraming): string[] {
  const chunked = framing === 'chunked' ? ['Transfer-Encoding', 'chunked'] : [];
  return [...headersBeyond(incoming, admission, passage), ...chunked, 'Connection', 'keep-alive'];
}

/** What goes on of a request's headers, and what the gateway says of it: all but those of one hop. */
export function headersBeyond(incoming: DoorRequest, { cluster }: Admission, passage: Passage): string[] {
  const { requestId, span, address } = passage;
  const headers = fromClient(incoming.rawHeaders);
  const own = ['Audit-ID', requestId, 'Traceparent', formatTraceparent(span.context), 'X-Forwarded-For', address];
  return [
    ...(headerValues(headers, 'host').length > 0 ? [] : ['Host', `${cluster.name}.fairlead`]),
    ...headers,
    ...own,
  ];
}

/** HTTP/2 needs no header to announce a body, and its own framing has checked a length that is given. */
function framingOf(incoming: DoorRequest): BodyFraming {
  const announced = bodyFraming(incoming.rawHeaders);
  if (incoming.httpVersionMajor < 2 || incoming.headers['content-length'] !== undefined) return announced;
  return (incoming as Http2ServerRequest).stream.endAfterHeaders ? 'none' : 'chunked';
}

/**
 * A watch is over when whoever serves it says so, after any event: its client goes on from the last version that it saw. Told that it broke
 * off, client-go lists everything anew, each time after a longer pause. What has a length is no watch, whatever was asked for.
 */
function endsAnywhere({ method }: DoorRequest, target: string, answer: UpstreamAnswer): boolean {
  const hasLength = headerValues(answer.rawHeaders, 'content-length').length > 0;
  return method === 'GET' && answer.statusCode === 200 && isWatch(target) && !hasLength;
}

export interface Answered {
  /** The path of its cluster, below which its locations are. */
  readonly below: string;
  /** By which the client can name its record. */
  readonly requestId: string;
}

/** How an answer ends that its far end has broken off. */
interface BrokenAnswer {
  /** True where it may end there, and nothing is wrong with that. */
  readonly justEnds: () => boolean;
  readonly breakOff: () => void;
}

/**
 * Passes an answer on. Resolves with its status when the client has all of it; TUNNEL_RESET when
 * either end breaks off.
 */
export async function passAnswer(
  answer: UpstreamAnswer,
  outgoing: DoorResponse,
  { below, requestId }: Answered,
  broken: BrokenAnswer = { justEnds: () => false, breakOff: () => breakOff(outgoing) },
): Promise<number> {
  const status = answer.statusCode ?? 502;
  const headers = withAuditId(fromServer(answer.rawHeaders), requestId);
  writeHead(outgoing, status, locatedWithin(headers, status, below));
  const endedItself = (): boolean => broken.justEnds() && endSoon(outgoing);
  if (await relayAnswer(answer, outgoing, broken.breakOff, endedItself)) return status;
  throw new FairleadError('TUNNEL_RESET', 'the answer broke off');
}

/** Ends it, unless the client does not take what came before. */
function endSoon(outgoing: DoorResponse): true {
  if (outgoing.writableEnded) return true;
  const timer = setTimeout(() => breakOff(outgoing), LINGER_MS).unref();
  outgoing.once('close', () => clearTimeout(timer));
  outgoing.end();
  return true;
}

/** Ends an answer so that the client sees that it is not whole: never a clean end. */
export function breakOff(outgoing: DoorResponse): void {
  if (!('stream' in outgoing)) outgoing.destroy();
  // Destroying it would say NO_ERROR, which some clients take for the end.
  else if (!isLeft(outgoing.stream.session)) outgoing.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
}

/** The same because this replica leaves, where all that goes on by the same connection ends with it. */
function breakOffLeaving(outgoing: DoorResponse, cause: FairleadError): void {
  const session = 'stream' in outgoing ? outgoing.stream.session : undefined;
  if (session) leaveSession(session, `${cause.message}; run the command again`);
  else breakOff(outgoing);
}

/** Repeated headers stay repeated; a status message is not passed on, as HTTP/2 has none. */
function writeHead(outgoing: DoorResponse, status: number, headers: readonly string[]): void {
  if ('stream' in outgoing) {
    const grouped: Record<string, string[]> = {};
    for (const [name, value] of headerPairs(headers)) (grouped[name.toLowerCase()] ??= []).push(value);
    outgoing.writeHead(status, grouped as never);
  } else {
    outgoing.writeHead(status, [...headers]);
  }
}

export function tooSlow(): FairleadError {
  return new FairleadError(
    'DEADLINE_EXCEEDED',
    `the kube-apiserver did not answer within ${ANSWER_TIMEOUT_MS / 1000} s`,
  );
}

/** What opening the tunnel threw says itself what happened. Once bytes may have left, the outcome is unknown. */
export function asFailure(error: Error, sent: boolean): FairleadError {
  if (error instanceof FairleadError && (!sent || !error.kind.retryable)) return error;
  return new FairleadError(
    'TUNNEL_RESET',
    `the tunnel broke off before the answer; it is not known whether the request was carried out: ${messageOf(error)}`,
    { cause: error },
  );
}
