import { setTimeout as sleep } from 'node:timers/promises';
import { FairleadError, isErrorCode, type ErrorCode } from '@fairlead/errors';
import * as z from 'zod/mini';
import { failure, isPassing, passing } from '../failure.js';
import { explainConnection } from './explain-connection.js';
import { directTransport, textOf } from './direct-transport.js';
import { logInAgain, type KnownLogin } from './log-in-again.js';
import { parseJson } from './parse-json.js';
import type { Reaching, Transport } from './transport.js';

const REQUEST_TIMEOUT_MS = 20_000;
const MAX_PROBLEM_BYTES = 64 * 1024;
/** More than any entry of the audit log with all that is around it. */
const MAX_LINE_CHARACTERS = 4 * 1024 * 1024;
/** A part of Fairlead, or what stands before it, is away or has too much to do. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([429, 503, 504]);
/** Before the second and the third attempt; each is shortened by up to a half, so that many do not come back in step. */
const PAUSES_MS = [500, 1_500];
/** No attempt begins later. */
const BUDGET_MS = 4_000;

/** With what is known of the login, for who has to log in again. */
export interface Target extends Reaching, KnownLogin {
  readonly token: string;
  /** Which tenant requests are about; default: the token's. */
  readonly tenant?: string | undefined;
  /** For a whole request; default 20,000. */
  readonly deadlineMs?: number;
}

interface Ask {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly body?: unknown;
  /** Instead of a JSON body. */
  readonly file?: { readonly mediaType: string; readonly content: Buffer };
  /** Refused unless it is this revision by then; null: unless there is none. */
  readonly ifRevision?: string | null | undefined;
  /** Where the answer may take longer than usual. */
  readonly deadlineMs?: number;
  /** False where the path itself is the secret. */
  readonly authenticated?: boolean;
}

export interface OpenOptions {
  readonly accept: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Given up when nothing comes for so long. */
  readonly idleMs: number;
}

/** A schema, of zod or of its smaller half, which `credential` is loaded with. */
interface Reading<T> {
  safeParse(value: unknown): { readonly success: true; readonly data: T } | { readonly success: false };
}

/** The public API. Errors come back as FairleadError with what to do next; what may pass is marked, and reads are then sent again. */
export interface ApiClient extends AsyncDisposable {
  /** A JSON answer as the schema reads it. */
  ask<T>(schema: Reading<T>, path: string, options?: Ask): Promise<T>;
  /** The answer of a GET of any length, line by line, as it comes; nothing is read ahead. What breaks off is passing. */
  lines(path: string, options: OpenOptions): AsyncGenerator<string, void, void>;
  /** The answer as text. */
  text(path: string, options?: Ask): Promise<string>;
}

const Problem = z.object({
  detail: z.string(),
  code: z.optional(z.string()),
  next: z.optional(z.string()),
  requestId: z.optional(z.string()),
  problems: z.optional(z.array(z.object({ path: z.string(), message: z.string() }))),
});

/** A client for one server; every request has a deadline, and no redirect is followed. */
export function apiClient(target: Target): ApiClient {
  const transport = transportFor(target);
  const text = (path: string, options: Ask = {}): Promise<string> => {
    const once = async (): Promise<string> => send(target, await transport, path, options);
    // A path that is a secret works once.
    const repeatable = (options.method ?? 'GET') === 'GET' && options.authenticated !== false;
    return repeatable ? readAgain(once) : once();
  };
  return {
    text,
    lines: (path, options) => streamedLines(target, transport, path, options),
    ask: async (schema, path, options) => {
      const parsed = schema.safeParse(bodyOf(await text(path, options)));
      if (parsed.success) return parsed.data;
      throw notFairlead(target.server);
    },
    [Symbol.asyncDispose]: async () => (await transport).destroy(),
  };
}

async function transportFor(target: Target): Promise<Transport> {
  if (!target.proxy) return directTransport(target);
  return (await import('./proxied-transport.js')).proxiedTransport(target);
}

/** Reads something again if it fails for what may pass. A service that restarts is often back within this. */
async function readAgain<T>(read: () => Promise<T>): Promise<T> {
  const began = Date.now();
  for (const pauseMs of PAUSES_MS) {
    try {
      return await read();
    } catch (error) {
      const jitteredMs = pauseMs * (0.5 + Math.random() / 2);
      if (!isPassing(error) || Date.now() + jitteredMs - began > BUDGET_MS) throw error;
      await sleep(jitteredMs);
    }
  }
  return read();
}

async function send(target: Target, transport: Transport, path: string, options: Ask): Promise<string> {
  const { method = 'GET', body, file, authenticated = true } = options;
  const mediaType = file?.mediaType ?? (body === undefined ? undefined : 'application/json');
  const headers = {
    accept: 'application/json, text/yaml',
    ...(authenticated ? identifying(target) : {}),
    ...(mediaType === undefined ? {} : { 'content-type': mediaType }),
    ...(options.ifRevision === null ? { 'if-none-match': '*' } : {}),
    ...(options.ifRevision ? { 'if-match': `"${options.ifRevision}"` } : {}),
  };
  const signal = AbortSignal.timeout(options.deadlineMs ?? target.deadlineMs ?? REQUEST_TIMEOUT_MS);
  const payload = file?.content ?? (body === undefined ? null : JSON.stringify(body));
  const asked = { method, headers, body: payload, signal };
  const { status, text } = await transport.send(new URL(path, target.server), asked).catch((error: unknown) => {
    throw explainConnection(target.server, error);
  });
  if (status >= 200 && status < 300) return text;
  throw refusalOf(target, status, text, authenticated);
}

async function* streamedLines(
  target: Target,
  transport: Promise<Transport>,
  path: string,
  { accept, headers = {}, idleMs }: OpenOptions,
): AsyncGenerator<string, void, void> {
  const unreachable = (error: unknown): never => {
    throw explainConnection(target.server, error);
  };
  const asked = { headers: { ...headers, accept, ...identifying(target) }, idleMs };
  const { status, body } = await (await transport).open(new URL(path, target.server), asked).catch(unreachable);
  if (status < 200 || status >= 300) {
    throw refusalOf(target, status, await textOf(body, MAX_PROBLEM_BYTES).catch(unreachable), true);
  }
  // Loaded only here: kubectl waits for what `credential` loads.
  const { linesOf } = await import('./lines-of.js');
  const lines = linesOf(body, MAX_LINE_CHARACTERS);
  try {
    for (let next = await lines.next().catch(unreachable); next.done !== true;) {
      yield next.value;
      next = await lines.next().catch(unreachable);
    }
  } finally {
    body.destroy();
  }
}

function identifying({ token, tenant }: Target): Record<string, string> {
  return { authorization: `Bearer ${token}`, ...(tenant === undefined ? {} : { 'fairlead-tenant': tenant }) };
}

function refusalOf(target: Target, status: number, text: string, authenticated: boolean): FairleadError {
  const problem = fromProblem(target, status, text, authenticated);
  return PASSING_STATUSES.has(status) ? passing(problem) : problem;
}

function fromProblem(target: Target, status: number, text: string, authenticated: boolean): FairleadError {
  const { server } = target;
  const problem = Problem.safeParse(bodyOf(text));
  if (!problem.success) return notFairlead(server, status);
  const { detail, code, next, requestId, problems = [] } = problem.data;
  const fields = problems.map(({ path, message }) => `${path.replace(/^(body|path)\./, '')}: ${message}`);
  const message = fields.length > 0 ? fields.join('; ') : detail;
  if (status === 401 && authenticated) {
    return failure('UNAUTHENTICATED', `${server} refuses the token: ${message}`, logInAgain(target));
  }
  const named = status >= 500 && requestId ? `${message} (request ${requestId})` : message;
  return failure(codeOf(code), named, next ?? 'try again');
}

function codeOf(code: string | undefined): ErrorCode {
  return isErrorCode(code) ? code : 'INTERNAL';
}

function notFairlead(server: string, status?: number): FairleadError {
  const what =
    status === undefined ? 'in a way this version does not understand' : `with HTTP ${status} and no problem`;
  const next = 'check that the URL is the API of Fairlead, and not newer than this command';
  return failure('PROTOCOL_ERROR', `${server} answered ${what}`, next);
}

/** Null for an answer without a body. */
const bodyOf = (text: string): unknown => (text === '' ? null : parseJson(text));
