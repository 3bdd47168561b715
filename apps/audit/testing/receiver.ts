import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { testAuthority } from '@fairlead/testing';

/** A message as it came. */
export interface Received {
  readonly id: string;
  readonly timestamp: number;
  readonly signatures: readonly string[];
  readonly entry: number;
  readonly path: string;
  readonly body: string;
  readonly event: { readonly id: string; readonly type: string };
}

export type Answer = (received: Received, response: ServerResponse) => void | Promise<void>;

/** Receives webhooks by https on loopback; answers 204 unless it is told otherwise. */
export interface Receiver extends AsyncDisposable {
  /** With a path of its own for each test, so that what an earlier one was sent is not taken for this one's. */
  url(path: string): string;
  readonly port: number;
  readonly ca: string;
  /** By path. */
  readonly answers: Map<string, Answer>;
  at(path: string): Received[];
}

export async function startReceiver(names: readonly string[]): Promise<Receiver> {
  const authority = await testAuthority();
  const { privateKeyPem: key, chainPem: cert } = await authority.serving([...names]);
  const received: Received[] = [];
  const answers = new Map<string, Answer>();
  const server = createServer({ key, cert }, (request, response) => void take(request, response));
  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const one = await read(request);
    received.push(one);
    const answer = answers.get(one.path);
    if (answer) await answer(one, response);
    else response.writeHead(204).end();
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: (path) => `https://127.0.0.1:${port}${path}`,
    port,
    ca: authority.root.certificatePem,
    answers,
    at: (path) => received.filter((one) => one.path === path),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function read(request: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString('utf8');
  const header = (name: string): string => String(request.headers[name] ?? '');
  return {
    id: header('webhook-id'),
    timestamp: Number(header('webhook-timestamp')),
    signatures: header('webhook-signature').split(' '),
    entry: Number(header('fairlead-entry')),
    path: request.url ?? '',
    body,
    event: JSON.parse(body) as Received['event'],
  };
}

/** What is signed of a message. */
export type Signed = Pick<Received, 'id' | 'timestamp' | 'body'>;

/** The signature of a message by this secret (Standard Webhooks 1.0). */
export function signatureOf(secret: string, { id, timestamp, body }: Signed): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

/** Whether one of its signatures is by this secret. */
export function isSignedBy(secret: string, received: Received): boolean {
  return received.signatures.includes(signatureOf(secret, received));
}
