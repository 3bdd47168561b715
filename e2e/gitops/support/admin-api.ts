import type { Stack } from '@fairlead/stack';
import { https } from '../../support/https.js';
import { adminToken } from '../../support/test-stack.js';

/** The admin API, as its administrator. */
export interface AdminApi {
  /** JSON both ways. Rejects with what it said unless it answers 2xx. */
  ask<T>(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object): Promise<T>;
  /** The body as it is. */
  upload<T>(path: string, mediaType: string, body: string): Promise<T>;
}

/** A Git host may have to be asked. */
const PATIENCE_MS = 90_000;

export function asAdministrator(stack: Stack): AdminApi {
  const send = async <T>(method: string, path: string, mediaType: string, body?: string): Promise<T> => {
    const headers = {
      authorization: `Bearer ${await adminToken(stack)}`,
      ...(body === undefined ? {} : { 'content-type': mediaType, 'content-length': Buffer.byteLength(body) }),
    };
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const answer = await https(stack, `${stack.api.url}${path}`, { method, headers, signal }, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
    return (answer.body === '' ? undefined : JSON.parse(answer.body)) as T;
  };
  return {
    ask: (method, path, body) =>
      send(method, path, 'application/json', body === undefined ? undefined : JSON.stringify(body)),
    upload: (path, mediaType, body) => send('PUT', path, mediaType, body),
  };
}
