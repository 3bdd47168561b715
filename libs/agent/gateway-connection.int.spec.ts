import { FairleadError } from '@fairlead/errors';
import { testAuthority, type TestAuthority } from '@fairlead/testing';
import { startBalancer, startConnectProxy } from '@fairlead/tunnel/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KeepaliveOptions } from '@fairlead/tunnel/link';
import { startScriptedGateway, type ScriptedGateway } from './testing/scripted-gateway.js';
import { connectToGateway } from './gateway-connection.js';
import type { Endpoint, ProxySettings } from './forward-proxy.js';

let authority: TestAuthority;
let gateway: ScriptedGateway;

beforeAll(async () => {
  authority = await testAuthority();
  const { privateKeyPem, chainPem } = await authority.gateway('gateway-a');
  const discover = { endpoints: ['here'], rootsPem: [...authority.roots], trustDomain: authority.trustDomain };
  gateway = await startScriptedGateway({ key: privateKeyPem, cert: chainPem, discover });
});

afterAll(() => gateway[Symbol.asyncDispose]());

const reach = (
  proxy: ProxySettings,
  endpoint: Endpoint = gateway.endpoint,
  signal = AbortSignal.timeout(30_000),
  keepalive?: KeepaliveOptions,
) =>
  connectToGateway({
    endpoint,
    proxy,
    signal,
    trust: { kind: 'roots', rootsPem: authority.roots, trustDomain: authority.trustDomain },
    ...(keepalive ? { keepalive } : {}),
  });

describe('a forward proxy', () => {
  it('is crossed with CONNECT, and the gateway’s certificate still counts', async () => {
    await using proxy = await startConnectProxy('connect');
    using connection = await reach({ httpsProxy: `http://127.0.0.1:${proxy.port}`, noProxy: [] });
    expect((await connection.rpc.discover({})).endpoints).toEqual(['here']);
    expect(proxy.asked).toEqual([{ target: `127.0.0.1:${gateway.endpoint.port}`, authorization: undefined }]);
  });

  it('gets the password of its URL, and nobody else does', async () => {
    await using proxy = await startConnectProxy('demand-password');
    const noProxy: string[] = [];
    const refused = reach({ httpsProxy: `http://127.0.0.1:${proxy.port}`, noProxy });
    await expect(refused).rejects.toThrow(/answered 407: it wants a user and a password/);
    using connection = await reach({ httpsProxy: `http://user:p%40ss@127.0.0.1:${proxy.port}`, noProxy });
    await connection.rpc.discover({});
    const expected = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;
    expect(proxy.asked.map(({ authorization }) => authorization)).toEqual([undefined, expected]);
  });

  it('gets the credentials that hold at each dial, and none of them stands in a message', async () => {
    await using proxy = await startConnectProxy('demand-password');
    const held = { username: 'user', password: 'old-hidden' };
    const settings = {
      httpsProxy: `http://127.0.0.1:${proxy.port}`,
      noProxy: [],
      credentials: async () => ({ ...held }),
    };
    (await reach(settings))[Symbol.dispose]();
    held.password = 'new:päss';
    (await reach(settings))[Symbol.dispose]();
    const sent = proxy.asked.map(({ authorization = '' }) => authorization.split(' ')[1] ?? '');
    const texts = sent.map((text) => Buffer.from(text, 'base64').toString());
    expect(texts).toEqual(['user:old-hidden', 'user:new:päss']);
    const missing = async (): Promise<never> => {
      throw new FairleadError('UNAVAILABLE', 'there is no username');
    };
    await expect(reach({ ...settings, credentials: missing })).rejects.toThrow('there is no username');
    expect(proxy.asked).toHaveLength(2);
  });

  it('is left alone for what NO_PROXY names', async () => {
    await using proxy = await startConnectProxy('connect');
    using connection = await reach({ httpsProxy: `http://127.0.0.1:${proxy.port}`, noProxy: ['127.0.0.0/8'] });
    await connection.rpc.discover({});
    expect(proxy.asked).toEqual([]);
  });

  it('that refuses is named, without its password', async () => {
    await using proxy = await startConnectProxy('refuse');
    const failure = await reach({ httpsProxy: `http://user:hidden@127.0.0.1:${proxy.port}`, noProxy: [] }).then(
      () => null,
      (error: unknown) => error as Error & { code: string },
    );
    expect(failure).toMatchObject({ code: 'UNAVAILABLE' });
    expect(failure?.message).toContain(`127.0.0.1:${proxy.port} answered 403`);
    expect(failure?.message).not.toContain('hidden');
  });

  it('that never answers costs no more than the deadline', async () => {
    await using proxy = await startConnectProxy('hang');
    const settings = { httpsProxy: `http://127.0.0.1:${proxy.port}`, noProxy: [] };
    await expect(reach(settings, gateway.endpoint, AbortSignal.timeout(300))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
  });

  it('that resets the connection ends it, and not the process', async () => {
    await using proxy = await startConnectProxy('connect');
    using connection = await reach({ httpsProxy: `http://127.0.0.1:${proxy.port}`, noProxy: [] });
    await connection.rpc.discover({});
    const closed = new Promise((resolve) => connection.http2.once('close', resolve));
    proxy.reset();
    await closed;
    expect(connection.http2.destroyed).toBe(true);
  });
});

describe('a gateway that falls silent', () => {
  it('is noticed within the bounds of the keepalive, though TCP stands', async () => {
    await using route = await startBalancer([gateway.endpoint.port]);
    // TCP alone would take minutes; and this process, in which all of it runs, may be held up for seconds before the silence begins.
    const keepalive = { intervalMs: 100, timeoutMs: 5_000 };
    const endpoint = { host: '127.0.0.1', port: route.port };
    using connection = await reach({ noProxy: [] }, endpoint, undefined, keepalive);
    await connection.rpc.discover({});
    route.blackhole();
    await new Promise((resolve) => connection.http2.once('close', resolve));
    expect(connection.http2.destroyed).toBe(true);
  });

  it('before TLS was done costs no more than the deadline', async () => {
    await using route = await startBalancer([gateway.endpoint.port]);
    route.blackhole();
    const endpoint = { host: '127.0.0.1', port: route.port };
    await expect(reach({ noProxy: [] }, endpoint, AbortSignal.timeout(300))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
  });
});

describe('what a gateway is called in TLS', () => {
  it.each([
    ['is the same for all', {}, 'link.fairlead.invalid'],
    ['is what the agent was told', { serverName: 'agents.example.com' }, 'agents.example.com'],
  ])('%s, and is not what its certificate is checked for', async (_how, named, expected) => {
    using connection = await reach({ noProxy: [] }, { ...gateway.endpoint, ...named });
    await connection.rpc.discover({});
    expect(gateway.serverNames.at(-1)).toBe(expected);
  });

  it('does not make a gateway of somebody else', async () => {
    const { privateKeyPem, chainPem } = await authority.agent('7b0d3f0a-3f1e-4c55-9a53-0e6b7f3c1d2e');
    const discover = { endpoints: ['there'], rootsPem: [...authority.roots], trustDomain: authority.trustDomain };
    await using other = await startScriptedGateway({ key: privateKeyPem, cert: chainPem, discover });
    await expect(reach({ noProxy: [] }, { ...other.endpoint, serverName: 'link.example.com' })).rejects.toMatchObject({
      code: 'UNTRUSTED_PEER',
    });
  });
});
