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
let target: { readonly host: string; readonly port: number; readonly caPem: string };

beforeAll(async () => {
  const authority = await testAuthority();
  [api, pair] = await Promise.all([startRecordingApiServer(authority), sessionPair()]);
  target = { host: '127.0.0.1', port: api.port, caPem: authority.roots.join('\n') };
  proxy = new KubeApiProxy({ ...target, token: () => Promise.resolve('token') }, silentLogger);
});

afterAll(async () => {
  proxy?.close();
  await pair?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
});

/** What comes back on one tunnel whose opener says this and then ends its direction. */
async function answerTo(...requests: readonly string[]): Promise<string> {
  return answerAs([], ...requests);
}

async function answerAs(groups: readonly string[], ...requests: readonly string[]): Promise<string> {
  const { opener, acceptor } = await pair.opened();
  proxy.serve(acceptor, { user: 'alice', groups, extra: [] });
  const answer = collect(opener);
  opener.end(requests.map((line) => `${line} HTTP/1.1\r\nHost: cluster\r\n\r\n`).join(''));
  return (await answer).toString();
}

describe('where names of users are extras', () => {
  it('the kube-apiserver is told one user, the groups, and the name as an extra alone', async () => {
    const { host, port, caPem } = target;
    const named = new KubeApiProxy(
      { host, port, caPem, userNames: 'extra', token: () => Promise.resolve('t') },
      silentLogger,
    );
    api.requests.length = 0;
    const { opener, acceptor } = await pair.opened();
    named.serve(acceptor, {
      user: 'corp:alice',
      groups: ['fairlead:view'],
      extra: [{ key: 'scopes', values: ['all'] }],
    });
    const answer = collect(opener);
    // Whoever asks cannot say it themselves.
    opener.end('GET /api HTTP/1.1\r\nHost: c\r\nImpersonate-Extra-fairlead.dev%2Fuser: corp:root\r\n\r\n');
    expect((await answer).toString()).toMatch(/ 200 /);
    named.close();
    const { rawHeaders = [] } = api.requests.at(-1) ?? {};
    const told = rawHeaders.flatMap((name, at) =>
      /^impersonate-/i.test(name) ? [[name.toLowerCase(), rawHeaders[at + 1]]] : [],
    );
    expect(told).toEqual([
      ['impersonate-user', 'fairlead:user'],
      ['impersonate-group', 'fairlead:view'],
      ['impersonate-extra-fairlead.dev%2fuser', 'corp:alice'],
    ]);
  });
});

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

describe('a request that the kube-apiserver refuses', () => {
  const refuseAll =
    (allowed: boolean): RecordingApiServer['handle'] =>
    (request, response) => {
      const isReview = request.url === '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
      response.statusCode = isReview ? 201 : 403;
      response.end(isReview ? JSON.stringify({ status: { allowed } }) : 'its own words');
    };

  it('because the agent may not impersonate the group tells what to do', async () => {
    api.handle = refuseAll(false);
    const answer = await answerAs(['fairlead:view'], 'GET /api/v1/pods');
    expect(answer).toMatch(/^HTTP\/1.1 403 /);
    expect(answer).toContain('IDENTITY_REFUSED');
    expect(answer).toContain('the group fairlead:view in this cluster: apply its import manifest again');
    expect(answer).not.toContain('its own words');
  });

  it('because the user may not do it is answered as it was', async () => {
    api.handle = refuseAll(true);
    const answer = await answerAs(['fairlead:edit'], 'GET /api/v1/pods');
    expect(answer).toMatch(/^HTTP\/1.1 403 /);
    expect(answer).toContain('its own words');
  });

  it('is answered as it was where the agent cannot learn why', async () => {
    api.handle = (_request, response) => void response.writeHead(403).end('its own words');
    expect(await answerAs(['fairlead:admin'], 'GET /api/v1/pods')).toContain('its own words');
  });
});
