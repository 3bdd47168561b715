import {
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { LIMITS } from '../core/index.js';
import { shareWindow } from './path-window.js';

export type GrpcStream = ClientHttp2Stream | ServerHttp2Stream;

export const TUNNEL_PATH = '/fairlead.link.v1.AgentLinkService/Tunnel';
export const RELAY_PATH = '/fairlead.link.v1.RelayService/Tunnel';

/** Begins a gRPC call as the client: headers go out at once, the body later. */
export function requestGrpcStream(session: ClientHttp2Session, path: string): ClientHttp2Stream {
  const stream = session.request(
    { ':method': 'POST', ':path': path, 'content-type': 'application/grpc+proto', te: 'trailers' },
    { endStream: false },
  );
  shareWindow(stream);
  // A stock gRPC server may end a call with a status in the trailers only; the tunnel reports it as lost.
  stream.on('error', () => {});
  return stream;
}

/** Answers a gRPC call as the server: headers at once, trailers with the status when the stream is ended. */
export function acceptGrpcStream(stream: ServerHttp2Stream): ServerHttp2Stream {
  shareWindow(stream);
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.on('error', () => {});
  stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { waitForTrailers: true });
  return stream;
}

/** Refuses a gRPC call before any message: a trailers-only answer. */
export function rejectGrpcStream(stream: ServerHttp2Stream, grpcStatus: number, message: string): void {
  stream.on('error', () => {});
  if (stream.destroyed || stream.closed) return;
  stream.respond(
    {
      ':status': 200,
      'content-type': 'application/grpc+proto',
      'grpc-status': String(grpcStatus),
      'grpc-message': encodeURIComponent(message),
    },
    { endStream: true },
  );
  // A caller that keeps its half open would otherwise hold the stream for as long as the session stands.
  abandonStream(stream);
}

export function isGrpc(headers: IncomingHttpHeaders): boolean {
  return (headers['content-type'] ?? '').startsWith('application/grpc');
}

/**
 * Ends our direction once what was written is out. The peer ends its own in its time: cutting it short could lose what
 * it has not read yet.
 */
export function endStream(stream: GrpcStream): void {
  if (!stream.destroyed && !stream.writableEnded) stream.end();
  stream.resume();
}

const abandoned = new WeakSet<GrpcStream>();

/** As endStream, for a tunnel that was reset or refused: the stream is cancelled if it is not gone soon. */
export function abandonStream(stream: GrpcStream): void {
  if (stream.destroyed || abandoned.has(stream)) return;
  abandoned.add(stream);
  endStream(stream);
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), LIMITS.lingerMs);
  timer.unref();
  stream.once('close', () => clearTimeout(timer));
}
