import { X509Certificate } from 'node:crypto';
import { createCsr, generatePrivateKey, parseToken, proveEnrolment, signProof } from '@fairlead/pki';
import { eventually } from '@fairlead/testing';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { brainpoolCertificate } from '../../support/brainpool-certificate.js';
import { readEvents } from '../../support/events.js';
import { startImpostor } from '../../support/impostor.js';
import { connectLink, type Attempt, type LinkClient } from '../../support/link-client.js';
import { invite, startLooseAgent, type Invitation } from '../../support/loose-agent.js';
import { WEAK_REQUESTS, WILD_REQUEST } from '../../support/openssl-requests.js';
import { sharedStack } from '../../support/shared-stack.js';
import type { TestStack } from '../../support/test-stack.js';

let running: TestStack;
/** An attacker, or a careless agent, who speaks the link's protocol as it is. */
let client: LinkClient;

beforeAll(() => {
  running = sharedStack();
});
// One for each test: after a minute the gateway ends a connection that is no link.
beforeEach(async () => {
  client = await connectLink(running.stack.gateways[0]?.linkAddress ?? '');
});
afterEach(() => {
  client?.[Symbol.dispose]();
});

const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';
const fromBase64 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'base64'));
const freshCsr = async (): Promise<Uint8Array> => createCsr(await generatePrivateKey());

function attemptWith({ token }: Invitation, csrDer: Uint8Array): Attempt {
  const { id, secret } = parseToken(token);
  return { tokenId: id, secret, csrDer };
}

/** As an agent asks: it keeps the secret to itself. */
function provenWith({ token }: Invitation, csrDer: Uint8Array): Attempt & { readonly proof: Uint8Array } {
  const parsed = parseToken(token);
  return { tokenId: parsed.id, proof: proveEnrolment(parsed, csrDer), csrDer };
}

/** Certificate and cluster of an enrolment that is to succeed. */
async function enrolled(attempt: Attempt): Promise<{ clusterId: string; generation: number; chainPem: string[] }> {
  const answer = await client.enrol(attempt);
  if ('code' in answer) throw new Error(`${answer.code}: ${answer.message}`);
  return answer;
}

/** Parts of what the wild request asks for. */
const WISHES = ['system:masters', '4294967', 'gateway-a', '11111111-1111', 'localhost', 'root@'];

function contentsOf(leafPem: string | undefined): object {
  const { subject, subjectAltName, ca, keyUsage, raw } = new X509Certificate(leafPem ?? '');
  const granted = WISHES.filter((wish) => raw.includes(wish));
  return { subject, subjectAltName, ca, extendedKeyUsage: keyUsage, granted };
}

/** The whole of what an agent's certificate may say, whoever asked for what. */
const agentOnly = (clusterId: string, generation: number): object => ({
  subject: `CN=${clusterId}\nOU=generation:${generation}\nOU=trust:1`,
  subjectAltName: `URI:spiffe://fairlead.local/cluster/${clusterId}/agent`,
  ca: false,
  extendedKeyUsage: [CLIENT_AUTH],
  granted: [],
});

describe('a bootstrap token', () => {
  it('is good for the key that spent it, again and again, and for no other', async () => {
    const invited = await invite(running.stack, 'repeated');
    const [own, other] = [await freshCsr(), await freshCsr()];
    const first = await enrolled(attemptWith(invited, own));
    expect(await client.enrol(attemptWith(invited, other))).toMatchObject({ code: 'TOKEN_USED' });
    const again = await enrolled(attemptWith(invited, own));
    expect([first.generation, again.generation, again.clusterId]).toEqual([1, 1, first.clusterId]);
    const keys = [first, again].map(({ chainPem }) => new X509Certificate(chainPem[0] ?? '').publicKey);
    expect(keys[0]?.equals(keys[1] as NonNullable<(typeof keys)[1]>)).toBe(true);
  });
});

describe('a proof that somebody has a bootstrap token', () => {
  it('is no use for another key than the agent’s to whoever carries it, and the token is still good', async () => {
    const invited = await invite(running.stack, 'carried');
    const honest = provenWith(invited, await freshCsr());
    const stolen = { ...honest, csrDer: await freshCsr() };
    expect(await client.enrol(stolen)).toMatchObject({ code: 'TOKEN_UNKNOWN' });
    expect((await enrolled(honest)).generation).toBe(1);
    expect(await client.enrol(stolen)).toMatchObject({ code: 'TOKEN_UNKNOWN' });
  });

  it('comes alone, whole, and with a token', async () => {
    const invited = await invite(running.stack, 'misshapen');
    const honest = provenWith(invited, await freshCsr());
    const { secret } = parseToken(invited.token);
    const misshapen: Attempt[] = [
      { ...honest, secret },
      { ...honest, proof: honest.proof.slice(1) },
      { ...honest, proof: new Uint8Array([...honest.proof, 0]) },
      { ...honest, tokenId: '' },
      { tokenId: honest.tokenId, csrDer: honest.csrDer, secret: new Uint8Array(65) },
    ];
    for (const attempt of misshapen) expect(await client.enrol(attempt)).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect((await enrolled(honest)).generation).toBe(1);
  });
});

describe('a certificate request that asks for another cluster, a gateway, a CA and every name', () => {
  it('gets the identity of its own token when it enrols', async () => {
    const { clusterId, generation, chainPem } = await enrolled(
      attemptWith(await invite(running.stack, 'wild'), fromBase64(WILD_REQUEST)),
    );
    expect(contentsOf(chainPem[0])).toEqual(agentOnly(clusterId, generation));
  });

  it('gets the identity of its own certificate when it renews', async () => {
    const keyPem = await generatePrivateKey();
    const invited = await invite(running.stack, 'wild-renewal');
    const { clusterId, generation, chainPem } = await enrolled(attemptWith(invited, await createCsr(keyPem)));
    const csrDer = fromBase64(WILD_REQUEST);
    const proof = new Uint8Array(await signProof(keyPem, csrDer));
    // Gateways hear of an enrolment a moment after it.
    const renewed = await eventually(async () => {
      const answer = await client.renew({ csrDer, currentChainPem: chainPem, proof });
      if ('code' in answer) throw new Error(`${answer.code}: ${answer.message}`);
      return answer;
    });
    expect(contentsOf(renewed.chainPem[0])).toEqual(agentOnly(clusterId, generation));
  });
});

describe('a certificate request', () => {
  it.each(Object.entries(WEAK_REQUESTS))('with %s is refused, and the token is still good', async (kind, request) => {
    const name = `weak-${kind.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`;
    const invited = await invite(running.stack, name);
    expect(await client.enrol(attemptWith(invited, fromBase64(request)))).toMatchObject({ code: 'CSR_INVALID' });
    expect((await enrolled(attemptWith(invited, await freshCsr()))).generation).toBe(1);
  });

  it('for a key that its sender does not have is refused, and leaves an event', async () => {
    const invited = await invite(running.stack, 'unproven');
    const honest = Buffer.from(await freshCsr());
    const badSignature = Buffer.from(honest);
    badSignature[honest.length - 1] = (honest.at(-1) ?? 0) ^ 1;
    // The key of somebody else, in a request that the sender's own key signed: their SubjectPublicKeyInfo are equally long.
    const keyAt = (der: Buffer): number => der.indexOf(Buffer.from('3059301306072a8648ce3d0201', 'hex'));
    const stolenKey = Buffer.from(honest);
    const victim = Buffer.from(await freshCsr());
    victim.copy(stolenKey, keyAt(honest), keyAt(victim), keyAt(victim) + 91);
    for (const csrDer of [badSignature, stolenKey]) {
      const refused = await client.enrol(attemptWith(invited, new Uint8Array(csrDer)));
      expect(refused).toMatchObject({ code: 'CSR_INVALID', message: expect.stringContaining('signature') as string });
    }
    const tokenId = parseToken(invited.token).id;
    await eventually(async () => {
      const refusals = (await readEvents(running.stack)).filter(({ data }) => data['tokenId'] === tokenId);
      expect(refusals.filter(({ data }) => data.reason === 'CSR_INVALID')).toHaveLength(2);
    });
  });
});

it('a stranger whose certificate Node cannot describe is one like any other, and ends no gateway', async () => {
  const pem = await brainpoolCertificate();
  using stranger = await connectLink(running.stack.gateways[0]?.linkAddress ?? '', { shown: { key: pem, cert: pem } });
  const invited = await invite(running.stack, 'beside-a-stranger');
  const attempt = attemptWith(invited, await freshCsr());
  const guessed = { ...attempt, secret: new Uint8Array(32) };
  expect(await stranger.enrol(guessed)).toMatchObject({ code: 'TOKEN_UNKNOWN' });
  expect((await enrolled(attempt)).generation).toBe(1);
});

it('an agent that has an identity shows it to no gateway with a chain of another CA', async () => {
  const invited = await invite(running.stack, 'led-astray');
  const first = await startLooseAgent(running.stack, { invitation: invited });
  await first.event('link.established');
  const identity = await first.identity();
  await first[Symbol.asyncDispose]();
  const { rootsPem } = JSON.parse((JSON.parse(identity) as { identity: string }).identity) as { rootsPem: string[] };
  // It answers discovery with the right root, as a man in the middle would who passes that on.
  await using impostor = await startImpostor(rootsPem);
  await using agent = await startLooseAgent(running.stack, {
    invitation: { ...invited, endpoints: impostor.address },
    identity,
  });
  expect(await agent.event('link.failed')).toMatchObject({ level: 'error', code: 'UNTRUSTED_PEER' });
  expect(impostor.received()).toHaveLength(0);
});
