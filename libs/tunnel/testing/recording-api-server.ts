import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
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
  /** The same for those that ask to upgrade, on the connection itself; by default refuses them. */
  handleUpgrade: (request: IncomingMessage, connection: Duplex, early: Buffer) => void;
}

/** A TLS server in the place of a kube-apiserver, for what a real one would not show: the exact headers it was sent. */
export async function startRecordingApiServer(authority: TestAuthority): Promise<RecordingApiServer> {
  const { privateKeyPem, chainPem } = await authority.serving(['127.0.0.1']);
  const requests: RecordedRequest[] = [];
  const server = createServer({ key: privateKeyPem, cert: chainPem, requestTimeout: 0 });
  // As Go's server, which limits their size only.
  server.maxHeadersCount = 0;
  // As a kube-apiserver, which keeps connections for minutes: one that it ends while a request comes costs that one.
  server.keepAliveTimeout = 120_000;
  const recording: RecordingApiServer = {
    port: 0,
    requests,
    handle: (_request, response) => void response.end('{}'),
    handleUpgrade: (_request, connection) => void connection.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n'),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      for (const connection of upgraded) connection.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  const record = ({ method = '', url = '', rawHeaders }: IncomingMessage): void =>
    void requests.push({ method, url, rawHeaders });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    record(request);
    recording.handle(request, response);
  });
  const upgraded = new Set<Duplex>();
  server.on('upgrade', (request: IncomingMessage, connection: Duplex, early: Buffer) => {
    record(request);
    upgraded.add(connection);
    connection.on('error', () => undefined).once('close', () => upgraded.delete(connection));
    recording.handleUpgrade(request, connection, early);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(recording, { port: (server.address() as AddressInfo).port });
}
