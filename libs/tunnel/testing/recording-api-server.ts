import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TestAuthority } from '@fairlead/testing';

/** What reached the API server, as it was on the wire. */
export interface RecordedRequest {
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
}

export interface RecordingApiServer extends AsyncDisposable {
  readonly port: number;
  readonly requests: RecordedRequest[];
  /** Answers the requests that follow; by default an empty JSON object. */
  handle: (request: IncomingMessage, response: ServerResponse) => void;
}

/** A TLS server in the place of a kube-apiserver, for what a real one would not show: the exact headers it was sent. */
export async function startRecordingApiServer(authority: TestAuthority): Promise<RecordingApiServer> {
  const { privateKeyPem, chainPem } = await authority.serving(['127.0.0.1']);
  const requests: RecordedRequest[] = [];
  const server = createServer({ key: privateKeyPem, cert: chainPem, requestTimeout: 0 });
  // As Go's server, which limits their size only.
  server.maxHeadersCount = 0;
  const recording: RecordingApiServer = {
    port: 0,
    requests,
    handle: (_request, response) => void response.end('{}'),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    requests.push({ method: request.method ?? '', url: request.url ?? '', rawHeaders: request.rawHeaders });
    recording.handle(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(recording, { port: (server.address() as AddressInfo).port });
}
