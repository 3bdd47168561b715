import { createConnectRouter, type ConnectRouter, type ContextValues } from '@connectrpc/connect';
import type { UniversalHandler, UniversalServerResponse } from '@connectrpc/connect/protocol';
import { HTTP2_CODE, type Http2Stream, type RequestHead } from '@fairlead/http2';
import { abandonStream, rejectGrpcStream } from '@fairlead/tunnel/link';
import { RpcChannel, fromHeaders, toHeaders } from './rpc-channel.js';
import type { SessionCalls } from './session-calls.js';

const GRPC_UNIMPLEMENTED = 12;
/** For all of a request to come, from its head on: a question of some KiB, which an honest caller has ready. */
const REQUEST_MS = 15_000;
/** For all of an answer to be taken: the largest is 128 KiB, on a poor line. */
const ANSWER_MS = 30_000;

/** Serves one stream that a peer began as an ordinary gRPC call, within what the calls of its session may hold. */
export type RpcServer = (stream: Http2Stream, head: RequestHead, context: ContextValues, calls: SessionCalls) => void;

/**
 * ConnectRPC on streams of ours: gRPC alone, without compression, calls of one question and one answer, messages up to `maxBytes`. A request that has not
 * come after 15 s, and an answer that was not taken after 30 s, end with the stream: neither holds memory for longer.
 */
export function createRpcServer(maxBytes: number, routes: (router: ConnectRouter) => void): RpcServer {
  const router = createConnectRouter({
    connect: false,
    grpcWeb: false,
    grpc: true,
    readMaxBytes: maxBytes,
    acceptCompression: [],
  });
  routes(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  return (stream, head, context, calls) => {
    const handler = handlers.get(head.path);
    if (handler) {
      if (!calls.admit(stream)) return;
      endLate(stream, REQUEST_MS, () => stream.ended);
      const channel = new RpcChannel(stream, maxBytes, calls.holdFor(stream).mayHold);
      void serve(handler, channel, stream, head, context);
    } else rejectGrpcStream(stream, GRPC_UNIMPLEMENTED, 'there is no such call');
  };
}

async function serve(
  handler: UniversalHandler,
  channel: RpcChannel,
  stream: Http2Stream,
  head: RequestHead,
  contextValues: ContextValues,
): Promise<void> {
  const gone = new AbortController();
  stream.onceClosed(() => gone.abort());
  try {
    const response = await handler({
      httpVersion: '2.0',
      method: head.method,
      url: `https://${head.authority || 'fairlead'}${head.path}`,
      header: toHeaders(head.fields),
      body: channel.body(),
      signal: gone.signal,
      contextValues,
    });
    await answer(stream, channel, response);
  } catch {
    // ConnectRPC answers what its handlers throw: this is a peer that went away, or a body that could not be sent.
    stream.cancel(HTTP2_CODE.internalError);
  }
}

async function answer(
  stream: Http2Stream,
  channel: RpcChannel,
  { status, header, body, trailer }: UniversalServerResponse,
): Promise<void> {
  endLate(stream, ANSWER_MS);
  stream.respond([[':status', String(status)], ...fromHeaders(header)]);
  if (body) await channel.send(body);
  stream.end(fromHeaders(trailer));
  // Whoever ended its direction has the rest of ANSWER_MS to take what waits. Who did not may never end it, and is told trailers alone.
  if (!stream.ended) abandonStream(stream);
}

/** Resets the stream once its time is over, unless it is gone by then, or what was waited for came. */
function endLate(stream: Http2Stream, ms: number, came: () => boolean = () => false): void {
  const timer = setTimeout(() => {
    if (!came()) stream.cancel(HTTP2_CODE.cancel);
  }, ms).unref();
  stream.onceClosed(() => clearTimeout(timer));
}
