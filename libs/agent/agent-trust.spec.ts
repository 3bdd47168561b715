import { randomUUID } from 'node:crypto';
import { systemClock } from '@fairlead/clock';
import { createLogger } from '@fairlead/observability';
import { signTrust, type LinkEndpoint, type SignedTrust } from '@fairlead/pki';
import { testAuthority, type TestAuthority } from '@fairlead/testing';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { AgentIdentity } from './agent-identity.js';
import { AgentTrust } from './agent-trust.js';
import { HeldIdentity } from './held-identity.js';

const old: LinkEndpoint = { address: 'old.example.com:443', weight: 1, state: 'active' };
const fresh: LinkEndpoint = { address: 'new.example.com:443', region: 'eu', weight: 3, state: 'active' };
const theirs: LinkEndpoint = { address: 'evil.example.com:443', weight: 1_000, state: 'active' };

let ours: TestAuthority;
let foreign: TestAuthority;
let held: HeldIdentity;
let trust: AgentTrust;
let stored: AgentIdentity[];
let said: { event: string; reason?: string }[];

beforeAll(async () => {
  [ours, foreign] = await Promise.all([testAuthority(), testAuthority()]);
});

beforeEach(async () => {
  [stored, said] = [[], []];
  const clusterId = randomUUID();
  const { privateKeyPem: keyPem, chain } = await ours.agent(clusterId);
  const { trustDomain, roots } = ours;
  const identity = {
    clusterId,
    generation: 1,
    trustDomain,
    keyPem,
    chainPem: [...chain],
    rootsPem: [...roots],
    trustVersion: 1,
  };
  held = new HeldIdentity(identity, {
    load: () => Promise.resolve({ identity: stored.at(-1) ?? identity, pending: null }),
    saveIdentity: (next) => Promise.resolve(void stored.push(next)),
    savePending: () => Promise.reject(new Error('nobody enrols here')),
  });
  const logger = createLogger('agent', 'info', {
    write: (line: string) => void said.push(JSON.parse(line) as { event: string }),
  });
  trust = new AgentTrust(held, logger, systemClock);
});

afterEach(() => held.release());

async function signed(
  version: number,
  endpoints?: LinkEndpoint[],
  by = ours,
  signer = 'service',
): Promise<SignedTrust> {
  const { privateKeyPem: keyPem, chain } =
    signer === 'service' ? await by.service('keys') : await by.gateway('gateway-a');
  const contents = { version, trustDomain: ours.trustDomain, rootsPem: ours.roots, endpoints };
  return signTrust(contents, { keyPem, chainPem: chain.slice(0, -1) });
}

it('takes up endpoints with the roots, stored before they count, and remembers those it knew', async () => {
  expect(await trust.take(await signed(2, [old]))).toBe(2);
  expect(await trust.take(await signed(3, [fresh]))).toBe(3);
  expect(stored.map(({ trustVersion, endpoints }) => [trustVersion, endpoints])).toEqual([
    [2, [old]],
    [3, [fresh]],
  ]);
  expect(held.current.formerEndpoints).toEqual([{ address: old.address }]);
});

it('keeps what it knows when a bundle says nothing of endpoints', async () => {
  await trust.take(await signed(2, [old]));
  expect(await trust.take(await signed(3))).toBe(3);
  expect(held.current).toMatchObject({ trustVersion: 3, endpoints: [old] });
});

it.each<[string, () => Promise<SignedTrust>, RegExp]>([
  ['a gateway signed', () => signed(3, [theirs], ours, 'gateway'), /not the keys service/],
  ['somebody else’s keys service signed', () => signed(3, [theirs], foreign), /trusted root/],
  [
    'nobody signed',
    async () => ({ ...(await signed(3, [theirs])), signature: new Uint8Array(64) }),
    /signature does not match/,
  ],
  [
    'was changed on its way',
    async () => ({ ...(await signed(3, [theirs])), ...(await changed()) }),
    /signature does not match/,
  ],
])('refuses a set that %s, says so, and goes on with what it knows', async (_what, made, reason) => {
  await trust.take(await signed(2, [old]));
  expect(await trust.take(await made())).toBeNull();
  expect(held.current).toMatchObject({ trustVersion: 2, endpoints: [old] });
  expect(stored).toHaveLength(1);
  expect(said.filter(({ event }) => event === 'trust.refused').map((line) => line.reason)).toEqual([
    expect.stringMatching(reason),
  ]);
});

it('passes over a set that is older than the one it holds, by whomever, and says so once, as no fault', async () => {
  await trust.take(await signed(2, [old]));
  for (const set of [await signed(1, [theirs]), await signed(1, [theirs], foreign)])
    expect(await trust.take(set)).toBeNull();
  expect(held.current).toMatchObject({ trustVersion: 2, endpoints: [old] });
  expect(stored).toHaveLength(1);
  expect(said.filter(({ event }) => event === 'trust.refused')).toEqual([]);
  expect(said.filter(({ event }) => event === 'trust.older')).toMatchObject([{ version: 1, held: 2 }]);
});

async function changed(): Promise<Pick<SignedTrust, 'bundle'>> {
  const text = Buffer.from((await signed(3, [old])).bundle).toString();
  return { bundle: new Uint8Array(Buffer.from(text.replaceAll(old.address, theirs.address))) };
}
