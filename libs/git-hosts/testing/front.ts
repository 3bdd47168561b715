import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestAuthority } from '@fairlead/testing';

/** A request as a fake host or a fault sees it. */
export interface FrontRequest {
  readonly method: string;
  /** Without the query; as it was sent, still encoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface FrontAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What happens instead of an answer: writes to the response, or breaks it off. `pass` asks the host behind. */
export type Fault = (response: ServerResponse, request: FrontRequest, pass: () => Promise<FrontAnswer>) => unknown;

export interface Front extends AsyncDisposable {
  readonly url: string;
  readonly caPem: string;
  /** What arrived, faults included, since the last `clear`: `GET /api/v1/user`. */
  readonly seen: string[];
  /** The next `times` requests of this method, whose path ends so, meet the fault. */
  inject(method: string, pathEnd: string, fault: Fault, times?: number): void;
  clear(): void;
}

/** HTTPS on loopback in front of a Git host, real or fake, where a test lets things go wrong. */
export async function startFront(
  authority: TestAuthority,
  behind: (request: FrontRequest, url: string) => Promise<FrontAnswer>,
): Promise<Front> {
  const { privateKeyPem: key, chainPem: cert } = await authority.serving(['127.0.0.1', 'localhost']);
  let faults: { method: string; pathEnd: string; fault: Fault; left: number }[] = [];
  const seen: string[] = [];
  const answer = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await read(message);
    seen.push(`${request.method} ${request.path}`);
    const pass = () => behind(request, url);
    const hit = faults.find(
      ({ method, pathEnd, left }) => left > 0 && method === request.method && request.path.endsWith(pathEnd),
    );
    if (hit) {
      hit.left -= 1;
      await hit.fault(response, request, pass);
    } else {
      send(response, await pass());
    }
  };
  const server = createServer({ key, cert }, (message, response) => {
    answer(message, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    caPem: authority.root.certificatePem,
    seen,
    inject: (method, pathEnd, fault, times = 1) => faults.push({ method, pathEnd, fault, left: times }),
    clear() {
      faults = [];
      seen.length = 0;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function send(response: ServerResponse, { status, headers = {}, body = '' }: FrontAnswer): void {
  response.writeHead(status, headers).end(body);
}

/** A fault that is an answer of its own. */
export function answering(status: number, headers: Record<string, string> = {}, body: unknown = {}): Fault {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return (response) =>
    send(response, { status, headers: { 'content-type': 'application/json', ...headers }, body: text });
}

async function read(message: IncomingMessage): Promise<FrontRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk);
  const [path = '/', query = ''] = (message.url ?? '/').split('?');
  const { method = 'GET', headers } = message;
  return { method, path, query: new URLSearchParams(query), headers, body: Buffer.concat(chunks).toString('utf8') };
}
