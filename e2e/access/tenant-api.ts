import { readFile } from 'node:fs/promises';
import type { Stack } from '@fairlead/stack';
import { https } from '../support/https.js';

/** What the admin API answered; a body that is no JSON is null. */
export interface ApiAnswer {
  readonly status: number;
  readonly text: string;
  readonly json: unknown;
}

/** Asks the admin API as somebody. `raw` is sent as YAML. */
export type AskApi = (method: string, path: string, body?: unknown, raw?: string) => Promise<ApiAnswer>;

/** By a token in a file; in another tenant than the token's, if that is named. */
export async function apiAs(stack: Stack, tokenFile: string, tenant?: string): Promise<AskApi> {
  const token = (await readFile(tokenFile, 'utf8')).trim();
  return async (method, path, body, raw) => {
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const headers = {
      authorization: `Bearer ${token}`,
      ...(tenant === undefined ? {} : { 'fairlead-tenant': tenant }),
      ...(sent === undefined ? {} : { 'content-type': raw === undefined ? 'application/json' : 'application/yaml' }),
      ...(sent === undefined ? {} : { 'content-length': String(Buffer.byteLength(sent)) }),
    };
    const { status, type, body: text } = await https(stack, `${stack.api.url}${path}`, { method, headers }, sent);
    return { status, text, json: /[/+]json\b/.test(type) ? (JSON.parse(text) as unknown) : null };
  };
}

/** One operation of the OpenAPI document. */
export interface DescribedOperation {
  readonly id: string;
  readonly method: string;
  /** `/v1/clusters/{name}`. */
  readonly template: string;
  /** As `security` says. */
  readonly mayAsk: string;
  readonly takesBody: boolean;
}

interface Document {
  readonly security: readonly { bearer: string[] }[];
  readonly paths: Record<
    string,
    Record<string, { operationId: string; security?: { bearer: string[] }[]; requestBody?: object }>
  >;
}

export async function describedOperations(ask: AskApi): Promise<DescribedOperation[]> {
  const document = (await ask('GET', '/openapi.json')).json as Document;
  return Object.entries(document.paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, { operationId: id, security = document.security, requestBody }]) => ({
      id,
      method: method.toUpperCase(),
      template,
      mayAsk: security[0]?.bearer[0] ?? 'public',
      takesBody: requestBody !== undefined,
    })),
  );
}
