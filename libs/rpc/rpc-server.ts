import { createConnectRouter, type ConnectRouter, type ContextValues } from '@connectrpc/connect';
import type { UniversalHandler, UniversalServerResponse } from '@connectrpc/connect/protocol';
import { HTTP2_CODE, type Http2Stream, type RequestHead } from '@fairlead/http2';
import { abandonStream, rejectGrpcStream } from '@fairlead/tunnel/link';
import { RpcChannel, fromHeaders, toHeaders } from './rpc-channel.js';

const GRPC_UNIMPLEMENTED = 12;

/** Serves one stream that a peer began as an ordinary gRPC call. */
export type RpcServer = (stream: Http2Stream, head: RequestHead, context: ContextValues) => void;

/** ConnectRPC on streams of ours: gRPC alone, without compression, messages up to `maxBytes`. */
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
  return (stream, head, context) => {
    const handler = handlers.get(head.path);
    if (handler) void serve(handler, maxBytes, stream, head, context);
    else rejectGrpcStream(stream, GRPC_UNIMPLEMENTED, 'there is no such call');
  };
}

async function serve(
  handler: UniversalHandler,
  maxBytes: number,
  stream: Http2Stream,
  head: RequestHead,
  contextValues: ContextValues,
): Promise<void> {
  const gone = new AbortController();
  stream.onceClosed(() => gone.abort());
  const channel = new RpcChannel(stream, maxBytes);
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
  stream.respond([[':status', String(status)], ...fromHeaders(header)]);
  if (body) await channel.send(body);
  stream.end(fromHeaders(trailer));
  // A caller that does not end its direction would keep the stream for as long as the session stands.
  abandonStream(stream);
}
