// Receives the webhooks of a subscriber, and prints the events that are real, one line of JSON each. README.md beside this folder says how to run it.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer as createPlainServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';

const { LISTEN = '127.0.0.1:8080', WEBHOOK_SECRET_FILE = '', TLS_CERT_FILE, TLS_KEY_FILE } = process.env;
const MAX_BYTES = 128 * 1024;
const TOLERANCE_SECONDS = 300;
const REMEMBERED = 10_000;

/** One in each line: while a secret is being replaced, both. */
const secrets = readFileSync(WEBHOOK_SECRET_FILE, 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('whsec_'))
  .map((line) => Buffer.from(line.trim().slice('whsec_'.length), 'base64'));
if (secrets.length === 0) throw new Error('WEBHOOK_SECRET_FILE has no secret');

/** Ids of what came already: a message may come more than once. Keep them where your data is, and in the same transaction. */
const seen = new Set<string>();

function isReal(headers: IncomingMessage['headers'], body: Buffer): boolean {
  const id = String(headers['webhook-id'] ?? '');
  const timestamp = String(headers['webhook-timestamp'] ?? '');
  // Without it, what somebody recorded could be sent again for ever.
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(Date.now() / 1_000 - Number(timestamp)) > TOLERANCE_SECONDS) return false;
  const signatures = String(headers['webhook-signature'] ?? '').split(' ');
  return secrets.some((secret) => {
    // Over the bytes that came: JSON that was parsed and written again is another text.
    const mac = createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body);
    const expected = Buffer.from(`v1,${mac.digest('base64')}`);
    return signatures.some((each) => {
      const given = Buffer.from(each);
      return given.length === expected.length && timingSafeEqual(given, expected);
    });
  });
}

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) return void response.writeHead(413).end();
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  if (request.method !== 'POST') return void response.writeHead(405).end();
  if (!isReal(request.headers, body)) return void response.writeHead(401).end();
  const id = String(request.headers['webhook-id']);
  if (!seen.has(id)) {
    process.stdout.write(`${JSON.stringify(JSON.parse(body.toString('utf8')))}\n`);
    seen.add(id);
    const [oldest] = seen;
    if (seen.size > REMEMBERED && oldest !== undefined) seen.delete(oldest);
  }
  // Answered once it is kept: whatever is not answered with 2xx within 15 s comes again.
  response.writeHead(204).end();
}

const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
  receive(request, response).catch(() => response.destroy());
};
const server =
  TLS_CERT_FILE && TLS_KEY_FILE
    ? createTlsServer({ cert: readFileSync(TLS_CERT_FILE), key: readFileSync(TLS_KEY_FILE) }, onRequest)
    : createPlainServer(onRequest);
server.requestTimeout = 15_000;
const colon = LISTEN.lastIndexOf(':');
server.listen(Number(LISTEN.slice(colon + 1)), LISTEN.slice(0, colon), () => {
  const address = server.address();
  if (address !== null && typeof address === 'object')
    process.stderr.write(`listening on ${address.address}:${address.port}\n`);
});
process.once('SIGTERM', () => server.close());
