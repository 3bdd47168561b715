import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { ValidateFunction } from 'ajv';
import { Agent, request } from 'undici';
import { expect } from 'vitest';
import type { Problem } from '../index.js';
import type { ScriptedApi } from './scripted-api.js';

export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
  readonly json: Record<string, unknown>;
}

export interface Ask {
  readonly token?: string | null;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly raw?: string | Buffer;
}

interface Described {
  readonly operationId: string;
  readonly security?: unknown[];
  readonly parameters?: { name: string; in: string }[];
  readonly responses: Record<string, { content?: Record<string, unknown> }>;
}

export interface Document {
  readonly paths: Record<string, Record<string, Described>>;
  readonly security: unknown[];
  readonly components: unknown;
}

export interface CheckedClient extends AsyncDisposable {
  readonly document: Document;
  /** Sends a request as a client would, and checks every answer against the OpenAPI document. */
  ask(method: string, path: string, options?: Ask): Promise<Answer>;
}

export async function checkedClient(api: ScriptedApi): Promise<CheckedClient> {
  const agent = new Agent({ connect: { ca: api.caPem } });
  const answer = await send(api, agent, 'GET', '/openapi.json', { token: null });
  const document = answer.json as unknown as Document;
  const ajv = new Ajv2020({ strict: false });
  (addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
  ajv.addSchema(document, 'openapi');
  const compiled = new Map<string, ValidateFunction>();
  const validatorOf = (pointer: string): ValidateFunction => {
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `openapi#/${pointer}` });
    compiled.set(pointer, validate);
    return validate;
  };
  return {
    document,
    ask: async (method, path, options = {}) => {
      const given = await send(api, agent, method, path, options);
      checkAgainstDocument({ document, validatorOf }, method, path, given);
      return given;
    },
    [Symbol.asyncDispose]: () => agent.close(),
  };
}

export const problemOf = (answer: Answer): Problem => answer.json as unknown as Problem;

async function send(api: ScriptedApi, agent: Agent, method: string, path: string, options: Ask): Promise<Answer> {
  const { token = api.script.token, body, headers = {}, raw } = options;
  const response = await request(`${api.url}${path}`, {
    method: method as 'GET',
    dispatcher: agent,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body: raw ?? (body === undefined ? null : JSON.stringify(body)),
  });
  const text = await response.body.text();
  const isJson = mediaTypeOf(response.headers).includes('json') && text !== '';
  const json = (isJson ? JSON.parse(text) : {}) as Record<string, unknown>;
  return { status: response.statusCode, headers: response.headers, text, json };
}

function mediaTypeOf(headers: Answer['headers']): string {
  return String(headers['content-type'] ?? '').split(';')[0] ?? '';
}

function checkAgainstDocument(
  {
    document,
    validatorOf,
  }: { readonly document: Document; readonly validatorOf: (pointer: string) => ValidateFunction },
  method: string,
  path: string,
  { status, json, text, headers }: Answer,
): void {
  const template = Object.keys(document.paths).find((known) =>
    new RegExp(`^${known.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path.split('?')[0] ?? ''),
  );
  const operation = template ? document.paths[template]?.[method.toLowerCase()] : undefined;
  if (!template || !operation || method === 'HEAD') return;
  const response = String(status) in operation.responses ? String(status) : 'default';
  if (text === '') {
    expect(operation.responses[response]?.content).toBeUndefined();
    return;
  }
  const mediaType = mediaTypeOf(headers);
  expect(Object.keys(operation.responses[response]?.content ?? {})).toContain(mediaType);
  if (!mediaType.includes('json')) return;
  const pointer = ['paths', template, method.toLowerCase(), 'responses', response, 'content', mediaType, 'schema']
    .map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D'))
    .join('/');
  const validate = validatorOf(pointer);
  validate(json);
  expect(validate.errors).toBeNull();
}
