import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { decodeSpans, type ReceivedSpan } from './decode-otlp.js';

export interface OtlpCollector extends AsyncDisposable {
  /** Where to send spans. */
  readonly url: string;
  readonly spans: ReceivedSpan[];
  /** Headers of each request. */
  readonly requests: IncomingHttpHeaders[];
  /** What it does from now on: takes spans, refuses them, or never answers. */
  mood: 'takes' | 'refuses' | 'hangs';
}

/** A collector as far as traces go: OTLP over HTTP with Protobuf, on loopback. */
export async function startOtlpCollector(): Promise<OtlpCollector> {
  const server = createServer((request, response) => void serve(collector, request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const collector: OtlpCollector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    spans: [],
    requests: [],
    mood: 'takes',
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return collector;
}

async function serve(collector: OtlpCollector, request: IncomingMessage, response: ServerResponse): Promise<void> {
  collector.requests.push(request.headers);
  const { mood } = collector;
  if (mood === 'hangs') return;
  const body = await buffer(request);
  const understood = request.url === '/v1/traces' && request.headers['content-type'] === 'application/x-protobuf';
  if (mood === 'refuses' || !understood) {
    response.writeHead(400, { 'content-type': 'text/plain' }).end('secret-of-the-collector');
    return;
  }
  collector.spans.push(...decodeSpans(body));
  response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
}
