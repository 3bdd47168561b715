import type { IncomingMessage } from 'node:http';
import { request, type Agent } from 'node:https';
import { FairleadError } from '@fairlead/errors';
import type { ClusterAccess } from './pod-access.js';

interface KubeQuestion {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: string;
  /** Of the body; default JSON. */
  readonly contentType?: string;
  readonly accept?: string;
  readonly userAgent?: string;
  /** Keeps connections; absent: one for this question. */
  readonly connections?: Agent;
  /** Whoever asks gives it a deadline. */
  readonly signal: AbortSignal;
  /** Asked right before it is sent; what this throws is thrown, and nothing is sent. */
  readonly guard?: (() => void) | undefined;
}

interface KubeAnswer {
  readonly status: number;
  /** As the head of the answer has it: what time it is there. */
  readonly date: string | undefined;
  readonly body: string;
}

const MIB = 2 ** 20;

/**
 * Asks an API server; resolves with what it answers, whatever the status. Rejects if it cannot be asked, and with TOO_LARGE if it says more than
 * `maxBytes`. It is `node:https` and not the Kubernetes client, because loading that costs 85 MiB, more than the rest of the agent.
 */
export async function askKube(access: ClusterAccess, question: KubeQuestion, maxBytes = MIB): Promise<KubeAnswer> {
  const answer = await openKube(access, question);
  return { status: answer.statusCode ?? 0, date: answer.headers.date, body: await readText(answer, maxBytes) };
}

/** The same, as far as the head of the answer. */
export async function openKube(access: ClusterAccess, question: KubeQuestion): Promise<IncomingMessage> {
  const { host, port, caPem: ca, clientCertificate } = access;
  const { method, path, accept = 'application/json', userAgent, connections: agent = false, signal, guard } = question;
  const body = question.body === undefined ? undefined : Buffer.from(question.body);
  const token = await access.token?.();
  const headers = {
    accept,
    ...(userAgent === undefined ? {} : { 'user-agent': userAgent }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(body === undefined ? {} : bodyHeaders(body, question.contentType)),
  };
  const identity = clientCertificate ? { cert: clientCertificate.certPem, key: clientCertificate.keyPem } : {};
  guard?.();
  return new Promise((resolve, reject) => {
    const sent = request({ host, port, ca, ...identity, method, path, headers, signal, agent }, resolve);
    sent.on('error', reject);
    sent.end(body);
  });
}

/** With its length: Node sends a DELETE's body without one, and what follows on the connection is then taken for a part of it. */
function bodyHeaders(body: Buffer, contentType = 'application/json'): Record<string, string | number> {
  return { 'content-type': contentType, 'content-length': body.length };
}

/** Whoever answers at that address may send without end, to a pod with little memory. */
export async function readText(answer: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Leaving the loop destroys the answer, and with it the connection.
    if (bytes > maxBytes)
      throw new FairleadError('TOO_LARGE', `the API server answered with more than ${maxBytes / MIB} MiB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
