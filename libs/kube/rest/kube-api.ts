import { Agent, request } from 'node:https';
import type { IncomingMessage, RequestOptions } from 'node:http';
import { FairleadError } from '@fairlead/errors';
import { kubeError, statusError } from '../kube-error.js';
import type { ClusterAccess } from './cluster-access.js';

export interface KubeRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Of the body; default JSON. */
  readonly contentType?: string;
  readonly accept?: string;
  /** What is done, for the message of an error. */
  readonly what: string;
  /** Asked right before it is sent; what this throws is thrown, and nothing is sent. */
  readonly guard?: () => void;
}

/** One API server, by its REST API. It is `node:https` and not the Kubernetes client, because loading that costs 85 MiB. */
export interface KubeApi extends Disposable {
  /** The answer's JSON. Errors: as `kubeError` says, with `httpStatus` in their details where there was an answer. */
  call<T>(request: KubeRequest): Promise<T>;
  /** Lines of JSON, as a watch answers, until the server or the signal ends it. */
  lines(request: KubeRequest, signal: AbortSignal): AsyncGenerator;
}

export interface KubeApiOptions {
  readonly access: ClusterAccess;
  readonly userAgent: string;
  /** For one request that is not a watch. Default 15 s. */
  readonly deadlineMs?: number;
}

/** Of one answer: a list of all CRDs of a cluster can be large. */
const MAX_ANSWER_BYTES = 64 * 2 ** 20;
const MAX_LINE_BYTES = 4 * 2 ** 20;
const MAX_SOCKETS = 8;

export function createKubeApi({ access, userAgent, deadlineMs = 15_000 }: KubeApiOptions): KubeApi {
  const agent = new Agent({
    keepAlive: true,
    maxSockets: MAX_SOCKETS,
    ca: access.caPem,
    ...(access.clientCertificate
      ? { cert: access.clientCertificate.certPem, key: access.clientCertificate.keyPem }
      : {}),
  });
  const send = async (wish: KubeRequest, signal: AbortSignal): Promise<IncomingMessage> => {
    const token = await access.token?.();
    const { host, port } = access;
    const method = wish.method ?? 'GET';
    const body = wish.body === undefined ? undefined : Buffer.from(JSON.stringify(wish.body));
    const headers = {
      accept: wish.accept ?? 'application/json',
      'user-agent': userAgent,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : bodyHeaders(body, wish.contentType)),
    };
    wish.guard?.();
    return answerTo({ host, port, agent, method, path: pathOf(wish), headers, signal }, body);
  };
  return {
    call: async <T>(wish: KubeRequest) => {
      try {
        const answer = await send(wish, AbortSignal.timeout(deadlineMs));
        const body = await textOf(answer);
        const status = answer.statusCode ?? 0;
        if (status < 200 || status > 299) throw statusError(status, body, wish.what);
        return JSON.parse(body) as T;
      } catch (error) {
        throw kubeError(error, wish.what);
      }
    },
    lines: async function* lines(wish, signal) {
      try {
        const answer = await send(wish, signal);
        const status = answer.statusCode ?? 0;
        if (status < 200 || status > 299) throw statusError(status, await textOf(answer), wish.what);
        yield* linesOf(answer);
      } catch (error) {
        if (!signal.aborted) throw kubeError(error, wish.what);
      }
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

function pathOf({ method, path, query = {} }: KubeRequest): string {
  // The server refuses unknown and repeated fields then: a misspelt one must not vanish silently.
  const strict = method === undefined || method === 'GET' || method === 'DELETE' ? {} : { fieldValidation: 'Strict' };
  const text = new URLSearchParams({ ...strict, ...query }).toString();
  return text === '' ? path : `${path}?${text}`;
}

/** With its length: Node sends a DELETE's body without one, and what follows on the connection is then taken for a part of it. */
function bodyHeaders(body: Buffer, contentType = 'application/json'): Record<string, string | number> {
  return { 'content-type': contentType, 'content-length': body.length };
}

function answerTo(options: RequestOptions, body: Buffer | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request(options, resolve);
    sent.on('error', reject);
    sent.end(body);
  });
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) throw new FairleadError('TOO_LARGE', 'the API server answered too much');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function* linesOf(answer: IncomingMessage): AsyncGenerator {
  answer.setEncoding('utf8');
  let rest = '';
  for await (const chunk of answer as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE_BYTES) throw new FairleadError('TOO_LARGE', 'a line of the watch is too long');
    for (const line of lines) if (line !== '') yield JSON.parse(line) as unknown;
  }
}
