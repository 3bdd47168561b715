import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { KubeApiTarget } from './kube-api-proxy.js';

export interface KubeQuestion {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** JSON. */
  readonly body?: string;
  readonly accept?: string;
  /** Whoever asks gives it a deadline. */
  readonly signal: AbortSignal;
}

export interface KubeAnswer {
  readonly status: number;
  /** As the head of the answer has it: what time it is there. */
  readonly date: string | undefined;
  readonly body: string;
}

/** Far more than anything that the agent itself asks for. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** Asks the kube-apiserver as the agent itself, on a connection of its own. Rejects if it cannot be asked, or says more than 1 MiB. */
export async function askKube(api: KubeApiTarget, question: KubeQuestion): Promise<KubeAnswer> {
  const { host, port, caPem } = api;
  const { method, path, body, accept, signal } = question;
  const headers = {
    authorization: `Bearer ${await api.token()}`,
    ...(accept === undefined ? {} : { accept }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  return new Promise((resolve, reject) => {
    const asking = request({ host, port, ca: caPem, method, path, headers, signal, agent: false });
    asking.once('error', reject);
    asking.once('response', (answer) => {
      const { statusCode: status = 0, headers: head } = answer;
      readText(answer).then((text) => resolve({ status, date: head.date, body: text }), reject);
    });
    asking.end(body);
  });
}

/** Whoever answers at that address may send without end, to a pod with little memory. */
async function readText(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Leaving the loop destroys the answer, and with it the connection.
    if (bytes > MAX_ANSWER_BYTES) throw new Error('it answered with more than 1 MiB, which no API server does here');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
