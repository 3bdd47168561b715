import { Agent } from 'undici';
import type { FrontAnswer, FrontRequest } from './front.js';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Asks Gitea itself, past the driver and past what a test lets go wrong. */
export interface GiteaClient extends AsyncDisposable {
  /** Throws an error with its `status` unless it answers 2xx. Authorised by a token, or by `user:password`. */
  ask<T>(method: Method, path: string, body?: object, auth?: string): Promise<T>;
  forward(request: FrontRequest): Promise<FrontAnswer>;
}

/** Trusts `caPem` alone; calls without `auth` are made with the token. */
export function giteaClient(origin: string, caPem: string, adminToken: string): GiteaClient {
  const agent = new Agent({ connect: { ca: caPem }, headersTimeout: 30_000, bodyTimeout: 30_000, allowH2: false });
  return {
    async ask<T>(method: Method, path: string, body?: object, auth?: string): Promise<T> {
      const headers = { authorization: auth ?? `token ${adminToken}`, 'content-type': 'application/json' };
      const text = body === undefined ? {} : { body: JSON.stringify(body) };
      const answer = await agent.request({ origin, path: `/api/v1${path}`, method, headers, ...text });
      const said = await answer.body.text();
      if (answer.statusCode >= 300) {
        const error = new Error(`${method} ${path}: ${answer.statusCode} ${said}`);
        throw Object.assign(error, { status: answer.statusCode });
      }
      return (said === '' ? undefined : JSON.parse(said)) as T;
    },
    async forward({ method, path, query, headers, body }) {
      const { authorization = '', accept = '*/*', 'content-type': type = 'application/json' } = headers;
      const search = query.size > 0 ? `?${query.toString()}` : '';
      const answer = await agent.request({
        origin,
        path: `${path}${search}`,
        method,
        headers: { authorization, accept, 'content-type': type },
        ...(body === '' ? {} : { body }),
      });
      const kept = ['content-type', 'link', 'x-total-count', 'location'].flatMap((name) => {
        const value = answer.headers[name];
        return typeof value === 'string' ? [[name, value] as const] : [];
      });
      return { status: answer.statusCode, headers: Object.fromEntries(kept), body: await answer.body.text() };
    },
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}
