import type { IncomingMessage } from 'node:http';
import { Agent } from 'node:https';
import { FairleadError } from '@fairlead/errors';
import { kubeError, statusError } from '../kube-error.js';
import { openKube, readText } from './ask-kube.js';
import type { ClusterAccess } from './pod-access.js';

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

/** One API server, by its REST API. */
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
  const connections = new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS });
  const send = (request: KubeRequest, signal: AbortSignal): Promise<IncomingMessage> => {
    const { method = 'GET', body, contentType, accept, guard } = request;
    return openKube(access, {
      method,
      path: pathOf(request),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(contentType === undefined ? {} : { contentType }),
      ...(accept === undefined ? {} : { accept }),
      userAgent,
      connections,
      signal,
      guard,
    });
  };
  return {
    call: async <T>(request: KubeRequest) => {
      try {
        const answer = await send(request, AbortSignal.timeout(deadlineMs));
        const body = await readText(answer, MAX_ANSWER_BYTES);
        const status = answer.statusCode ?? 0;
        if (status < 200 || status > 299) throw statusError(status, body, request.what);
        return JSON.parse(body) as T;
      } catch (error) {
        throw kubeError(error, request.what);
      }
    },
    lines: async function* lines(request, signal) {
      try {
        const answer = await send(request, signal);
        const status = answer.statusCode ?? 0;
        if (status < 200 || status > 299)
          throw statusError(status, await readText(answer, MAX_ANSWER_BYTES), request.what);
        yield* linesOf(answer);
      } catch (error) {
        if (!signal.aborted) throw kubeError(error, request.what);
      }
    },
    [Symbol.dispose]: () => connections.destroy(),
  };
}

function pathOf({ method, path, query = {} }: KubeRequest): string {
  // The server refuses unknown and repeated fields then: a misspelt one must not vanish silently.
  const strict = method === undefined || method === 'GET' || method === 'DELETE' ? {} : { fieldValidation: 'Strict' };
  const text = new URLSearchParams({ ...strict, ...query }).toString();
  return text === '' ? path : `${path}?${text}`;
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
