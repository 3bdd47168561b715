import { Agent, request } from 'node:https';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import {
  CONNECT_TIMEOUT_MS,
  MAX_ANSWER_BYTES,
  trustedBy,
  type Reaching,
  type Request,
  type StreamRequest,
  type StreamedAnswer,
  type Transport,
} from './transport.js';

/** By Node's own client, which is there at once: kubectl waits for `credential`, and undici takes longer to load than a request. */
export function directTransport(reaching: Reaching): Transport {
  const agent = new Agent({ keepAlive: true, ca: trustedBy(reaching), minVersion: 'TLSv1.3' });
  return {
    send: (url, asked) => send(agent, url, asked),
    open: (url, asked) => open(agent, url, asked),
    destroy: async () => agent.destroy(),
  };
}

function send(agent: Agent, url: URL, { body, ...asked }: Request): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent, ...asked });
    outgoing.once('socket', (socket: Socket) => limitConnecting(socket));
    outgoing.once('error', reject);
    outgoing.once('response', (answer) => {
      // Who has an answer does not mind that the rest of the body is not taken.
      outgoing.off('error', reject).on('error', () => undefined);
      // An answer that is given up breaks off for Node: the reason is the deadline's.
      const failed = (error: unknown): void => reject(asked.signal.aborted ? asked.signal.reason : error);
      textOf(answer, MAX_ANSWER_BYTES).then((text) => resolve({ status: answer.statusCode ?? 0, text }), failed);
    });
    outgoing.end(body ?? undefined);
  });
}

function open(agent: Agent, url: URL, { headers, idleMs }: StreamRequest): Promise<StreamedAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent, headers });
    let late = (error: Error): void => void outgoing.destroy(error);
    outgoing.setTimeout(idleMs, () => late(Object.assign(new Error('nothing came in time'), { code: 'ETIMEDOUT' })));
    outgoing.once('socket', (socket: Socket) => limitConnecting(socket));
    outgoing.once('error', reject);
    outgoing.once('response', (body) => {
      outgoing.off('error', reject).on('error', () => undefined);
      late = (error) => void body.destroy(error);
      resolve({ status: body.statusCode ?? 0, body });
    });
    outgoing.end();
  });
}

/** Of one that is kept alive nothing is waited for. */
function limitConnecting(socket: Socket): void {
  if (!socket.connecting) return;
  const late = (): void =>
    void socket.destroy(Object.assign(new Error('no connection in time'), { code: 'ETIMEDOUT' }));
  const timer = setTimeout(late, CONNECT_TIMEOUT_MS);
  const done = (): void => clearTimeout(timer);
  socket.once('secureConnect', done).once('close', done);
}

/** A body to its end; fails if it is longer. */
export function textOf(answer: Readable, maxBytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let bytes = 0;
    answer.on('data', (piece: Buffer) => {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes > maxBytes) answer.destroy(new Error(`the answer has more than ${maxBytes} bytes`));
    });
    answer.once('end', () => resolve(Buffer.concat(pieces).toString('utf8')));
    answer.once('error', reject);
  });
}
