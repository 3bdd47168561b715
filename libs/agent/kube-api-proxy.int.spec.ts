import { silentLogger } from '@fairlead/observability';
import { testAuthority } from '@fairlead/testing';
import {
  collect,
  sessionPair,
  startRecordingApiServer,
  type RecordingApiServer,
  type SessionPair,
} from '@fairlead/tunnel/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KubeApiProxy } from './kube-api-proxy.js';

let api: RecordingApiServer;
let pair: SessionPair;
let proxy: KubeApiProxy;

beforeAll(async () => {
  const authority = await testAuthority();
  [api, pair] = await Promise.all([startRecordingApiServer(authority), sessionPair()]);
  const target = { host: '127.0.0.1', port: api.port, caPem: authority.roots.join('\n') };
  proxy = new KubeApiProxy({ ...target, token: () => Promise.resolve('token') }, silentLogger);
});

afterAll(async () => {
  proxy?.close();
  await pair?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
});

/** What comes back on one tunnel whose opener says this and then ends its direction. */
async function answerTo(...requests: readonly string[]): Promise<string> {
  const { opener, acceptor } = await pair.opened();
  proxy.serve(acceptor, { user: 'alice', groups: [], extra: [] });
  const answer = collect(opener);
  opener.end(requests.map((line) => `${line} HTTP/1.1\r\nHost: cluster\r\n\r\n`).join(''));
  return (await answer).toString();
}

describe('an opener that half-closes right after its requests', () => {
  it('gets the whole answer', async () => {
    api.handle = (_request, response) => void setTimeout(() => response.end('late but whole'), 50);
    const answer = await answerTo('GET /api');
    expect(answer).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    expect(answer).toContain('late but whole');
  });

  it('gets all of them, in their order, and then the end', async () => {
    api.handle = (request, response) => void setTimeout(() => response.end(`answer to ${request.url}`), 20);
    const answer = await answerTo('GET /one', 'GET /two', 'GET /three');
    expect(answer.match(/answer to \/[a-z]+/g)).toEqual(['answer to /one', 'answer to /two', 'answer to /three']);
  });

  it('without a request gets the end, and the tunnel is over', async () => {
    expect(await answerTo()).toBe('');
  });
});
