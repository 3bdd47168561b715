import type { Transport } from '@connectrpc/connect';
import type { UniversalClientRequest, UniversalClientResponse } from '@connectrpc/connect/protocol';
import { createTransport } from '@connectrpc/connect/protocol-grpc';
import type { HeaderField, Http2Session } from '@fairlead/http2';
import { RpcChannel, fromHeaders, toHeaders } from './rpc-channel.js';

const NEVER_COMPRESSED = Number.MAX_SAFE_INTEGER;

/** ConnectRPC over a session of ours: ordinary calls, each on a stream of its own. */
export function rpcTransport(session: Http2Session, baseUrl: string, maxBytes: number): Transport {
  return createTransport({
    baseUrl,
    httpClient: (request) => call(session, request, maxBytes),
    useBinaryFormat: true,
    interceptors: [],
    acceptCompression: [],
    sendCompression: null,
    compressMinBytes: NEVER_COMPRESSED,
    readMaxBytes: maxBytes,
    writeMaxBytes: maxBytes,
  });
}

async function call(
  session: Http2Session,
  request: UniversalClientRequest,
  maxBytes: number,
): Promise<UniversalClientResponse> {
  const { host, pathname } = new URL(request.url);
  const pseudo: HeaderField[] = [
    [':method', request.method],
    [':scheme', 'https'],
    [':path', pathname],
    [':authority', host],
  ];
  const stream = session.request([...pseudo, ...fromHeaders(request.header)]);
  const onAbort = (): void => stream.cancel();
  request.signal?.addEventListener('abort', onAbort, { once: true });
  stream.onceClosed(() => request.signal?.removeEventListener('abort', onAbort));
  if (request.signal?.aborted) stream.cancel();
  const channel = new RpcChannel(stream, maxBytes);
  // A body that cannot be read or sent to its end breaks the call off, which its answer then tells.
  (request.body ? channel.send(request.body) : Promise.resolve()).then(
    () => stream.end(),
    () => stream.cancel(),
  );
  const { status, fields } = await channel.response;
  return { status, header: toHeaders(fields), body: channel.body(), trailer: channel.trailers };
}
