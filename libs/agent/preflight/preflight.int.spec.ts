import { createServer, type AddressInfo, type Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { formatToken } from '@fairlead/pki';
import { testAuthority, type TestAuthority } from '@fairlead/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { identityStore, type TextStore } from '../agent-identity.js';
import type { Endpoint } from '../forward-proxy.js';
import { startScriptedGateway } from '../testing/scripted-gateway.js';
import { checkCredentials, checkEndpoint, heldPins, type Finding } from './index.js';

let ours: TestAuthority;
let theirs: TestAuthority;

beforeAll(async () => {
  [ours, theirs] = await Promise.all([testAuthority(), testAuthority()]);
});

async function lookAt(
  endpoint: Endpoint,
  change: { pins?: readonly string[]; nowMs?: number } = {},
): Promise<Finding[]> {
  const signal = AbortSignal.timeout(20_000);
  const options = { endpoint, proxy: { noProxy: [] }, pins: ours.pins, nowMs: Date.now(), signal, ...change };
  const findings: Finding[] = [];
  for await (const finding of checkEndpoint(options)) findings.push(finding);
  return findings;
}

const outcomes = (findings: readonly Finding[]): string[] => findings.map(({ check, ok }) => `${check} ${ok}`);

async function gateway(certifiedBy: TestAuthority, rootsPem: readonly string[]) {
  const { privateKeyPem: key, chainPem: cert } = await certifiedBy.gateway('gateway-a');
  return startScriptedGateway({
    key,
    cert,
    discover: { endpoints: [], rootsPem: [...rootsPem], trustDomain: 'fairlead.local' },
  });
}

async function listening(server: Server): Promise<Endpoint> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
}

describe('an endpoint', () => {
  it('that is a gateway of ours passes every step, and is asked for nothing but the public document', async () => {
    await using real = await gateway(ours, ours.roots);
    const findings = await lookAt(real.endpoint);
    expect(outcomes(findings)).toEqual(['dns true', 'route true', 'tls true', 'clock true', 'pin true']);
    expect(real.calls).toEqual(['Discover']);
  });

  it('with a name that nobody knows', async () => {
    const findings = await lookAt({ host: 'no-such-name.invalid', port: 7_443 });
    expect(outcomes(findings)).toEqual(['dns false']);
    expect(findings[0]?.remedy).toContain('DNS');
  });

  it('where nobody listens', async () => {
    const findings = await lookAt({ host: '127.0.0.1', port: 1 });
    expect(outcomes(findings)).toEqual(['dns true', 'route false']);
    expect(findings.at(-1)).toMatchObject({ detail: expect.stringContaining('UNAVAILABLE') as string });
    expect(findings.at(-1)?.remedy).toContain('HTTPS_PROXY');
  });

  it('that ends the connection', async () => {
    const server = createServer((socket) => socket.destroy());
    const findings = await lookAt(await listening(server));
    server.close();
    expect(outcomes(findings)).toEqual(['dns true', 'route true', 'tls false']);
  });

  it('that opens TLS and speaks something else', async () => {
    const { privateKeyPem: key, chainPem: cert } = await ours.serving(['127.0.0.1']);
    const server = createTlsServer({ key, cert, ALPNProtocols: ['http/1.1'] }, (socket) => {
      socket.on('error', () => undefined);
    });
    server.on('tlsClientError', () => undefined);
    const findings = await lookAt(await listening(server));
    server.close();
    expect(outcomes(findings)).toEqual(['dns true', 'route true', 'tls false']);
  });

  it('of another installation, or of somebody who shows our root', async () => {
    await using another = await gateway(theirs, theirs.roots);
    expect((await lookAt(another.endpoint)).at(-1)).toMatchObject({
      check: 'pin',
      ok: false,
      detail: expect.stringContaining(theirs.pins[0] ?? 'none') as string,
    });
    await using impostor = await gateway(theirs, ours.roots);
    const last = (await lookAt(impostor.endpoint)).at(-1);
    expect(last).toMatchObject({
      check: 'pin',
      ok: false,
      detail: expect.stringContaining('UNTRUSTED_PEER') as string,
    });
    expect(last?.remedy).toContain('somebody is in between');
  });

  it.each([
    ['behind', -2 * 3_600_000],
    ['past', 30 * 3_600_000],
  ])('seen with a clock that is %s', async (which, offMs) => {
    await using real = await gateway(ours, ours.roots);
    const clock = (await lookAt(real.endpoint, { nowMs: Date.now() + offMs })).find(({ check }) => check === 'clock');
    expect(clock).toMatchObject({
      ok: false,
      detail: expect.stringMatching(new RegExp(`\\d+ \\w+ ${which}`)) as string,
    });
    expect(clock?.remedy).toContain('NTP');
  });
});

describe('credentials', () => {
  const nowMs = Date.now();
  const empty: TextStore = { read: () => Promise.resolve({ values: {} }), write: () => Promise.resolve() };
  const look = (
    change: Partial<Parameters<typeof checkCredentials>[0]>,
    store: TextStore = empty,
  ): Promise<Finding[]> =>
    checkCredentials({ store: identityStore(store), token: null, adoption: false, pins: [], nowMs, ...change });

  async function storeWith(notAfter: Date): Promise<TextStore> {
    const clusterId = crypto.randomUUID();
    const certificate = await ours.agent(clusterId, { notBefore: new Date(0), notAfter });
    const identity = {
      clusterId,
      generation: 1,
      trustDomain: 'fairlead.local',
      keyPem: certificate.privateKeyPem,
      chainPem: certificate.chain,
      rootsPem: ours.roots,
    };
    return { ...empty, read: () => Promise.resolve({ values: { identity: JSON.stringify(identity) } }) };
  }

  it('of every kind, good and bad', async () => {
    const token = formatToken({ pin: ours.pins[0] as string, id: 'token-1', secret: new Uint8Array(32) });
    expect(await look({})).toMatchObject([{ check: 'token', ok: false }]);
    expect(await look({ token })).toMatchObject([{ ok: true, subject: 'token token-1' }]);
    expect(await look({ token, pins: theirs.pins })).toMatchObject([{ ok: false }]);
    expect(await look({ token: 'fl1.not-one' })).toMatchObject([{ ok: false }]);
    expect(await look({ adoption: true })).toMatchObject([{ ok: false }]);
    expect(await look({ adoption: true, pins: ours.pins })).toMatchObject([{ ok: true }]);
    const broken: TextStore = { ...empty, read: () => Promise.resolve({ values: { identity: '{' } }) };
    expect(await look({}, broken)).toMatchObject([{ check: 'identity', ok: false }]);
  });

  it('that are kept: valid, to be renewed, and past renewing', async () => {
    const day = 86_400_000;
    const at = (ms: number): Promise<Finding[]> => storeWith(new Date(nowMs + ms)).then((store) => look({}, store));
    expect(await at(day)).toMatchObject([{ ok: true, detail: expect.stringContaining('valid until') as string }]);
    expect(await at(-day)).toMatchObject([{ ok: true, detail: expect.stringContaining('renews it') as string }]);
    const lost = await at(-31 * day);
    expect(lost).toMatchObject([{ ok: false, remedy: expect.stringContaining('fairlead cluster import') as string }]);
  });

  it('that are another cluster’s than the manifest’s are of no use, unless there is a token to leave it by', async () => {
    const store = await storeWith(new Date(nowMs + 86_400_000));
    const token = formatToken({ pin: ours.pins[0] as string, id: 'token-1', secret: new Uint8Array(32) });
    const clusterId = crypto.randomUUID();
    expect(await look({ clusterId }, store)).toMatchObject([
      { check: 'identity', ok: false, remedy: expect.stringContaining('import that one again') as string },
    ]);
    expect(await look({ clusterId, token }, store)).toMatchObject([{ check: 'token', ok: true }]);
  });

  it('bring roots of their own, which count whatever the manifest says', async () => {
    const store = await storeWith(new Date(nowMs + 86_400_000));
    expect(await heldPins(identityStore(store))).toEqual(ours.pins);
    expect(await heldPins(identityStore(empty))).toEqual([]);
    await using later = await gateway(ours, ours.roots);
    const findings = await lookAt(later.endpoint, {
      pins: [...theirs.pins, ...(await heldPins(identityStore(store)))],
    });
    expect(findings.at(-1)).toMatchObject({ check: 'pin', ok: true });
  });

  it('are never repeated', async () => {
    const secret = new Uint8Array(32).fill(7);
    const token = formatToken({ pin: ours.pins[0] as string, id: 'token-1', secret });
    const said = JSON.stringify([...(await look({ token })), ...(await look({ token: `${token}x` }))]);
    expect(said).not.toContain(token.split('.')[3]);
  });
});
