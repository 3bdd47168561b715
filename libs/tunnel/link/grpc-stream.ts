import {
  HTTP2_CODE,
  headerValue,
  type HeaderField,
  type Http2Session,
  type Http2Stream,
  type RequestHead,
} from '@fairlead/http2';
import type { FairleadError } from '@fairlead/errors';
import { LIMITS } from '../core/index.js';
import { CODE_HEADER } from './rpc-errors.js';
import { shareWindow } from './path-window.js';

export const CONTROL_PATH = '/fairlead.link.v1.AgentLinkService/Control';
export const TUNNEL_PATH = '/fairlead.link.v1.AgentLinkService/Tunnel';
export const EGRESS_PATH = '/fairlead.link.v1.AgentLinkService/Egress';
export const RELAY_PATH = '/fairlead.link.v1.RelayService/Tunnel';

const CONTENT_TYPE: HeaderField = ['content-type', 'application/grpc+proto'];
const OK_TRAILERS: readonly HeaderField[] = [['grpc-status', '0']];

/** Begins a gRPC call as the client: headers go out at once, the body later. Throws if the session takes no more. */
export function requestGrpcStream(session: Http2Session, path: string): Http2Stream {
  const stream = session.request([
    [':method', 'POST'],
    [':scheme', 'https'],
    [':path', path],
    [':authority', 'fairlead'],
    CONTENT_TYPE,
    ['te', 'trailers'],
  ]);
  shareWindow(session);
  return stream;
}

/** Answers a gRPC call as the server: headers at once, trailers with the status when the stream is ended. */
export function acceptGrpcStream(stream: Http2Stream, fields: readonly HeaderField[] = []): Http2Stream {
  stream.respond([[':status', '200'], CONTENT_TYPE, ...fields]);
  return stream;
}

/** Refuses a gRPC call before any message: a trailers-only answer. */
export function rejectGrpcStream(stream: Http2Stream, grpcStatus: number, message: string): void {
  const status: HeaderField[] = [
    ['grpc-status', String(grpcStatus)],
    ['grpc-message', encodeURIComponent(message)],
  ];
  stream.respond([[':status', '200'], CONTENT_TYPE, ...status], { endStream: true });
  // A caller that keeps its half open would otherwise hold the stream for as long as the session stands.
  abandonStream(stream);
}

/** Ends a gRPC call that was accepted: with gRPC's coarse status, and our own code beside it. */
export function failGrpcStream(stream: Http2Stream, { code, message, kind }: FairleadError): void {
  stream.end([
    ['grpc-status', String(kind.grpc)],
    ['grpc-message', encodeURIComponent(message)],
    [CODE_HEADER, code],
  ]);
  abandonStream(stream);
}

export function isGrpc({ fields }: RequestHead): boolean {
  return (headerValue(fields, 'content-type') ?? '').startsWith('application/grpc');
}

/**
 * Ends our direction once what was written is out. The peer ends its own in its time: cutting it short could lose what
 * it has not read yet.
 */
export function endStream(stream: Http2Stream): void {
  stream.end(stream.answering ? OK_TRAILERS : null);
}

/** As endStream, for a tunnel that was reset or refused: the stream is cancelled if it is not gone soon. */
export function abandonStream(stream: Http2Stream): void {
  if (stream.closed) return;
  endStream(stream);
  const timer = setTimeout(() => stream.cancel(HTTP2_CODE.cancel), LIMITS.lingerMs);
  timer.unref();
  stream.onceClosed(() => clearTimeout(timer));
}
