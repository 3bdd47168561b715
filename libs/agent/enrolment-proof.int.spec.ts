import { randomBytes, randomUUID } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';
import { silentLogger } from '@fairlead/observability';
import {
  createCsr,
  enrolmentProofKey,
  formatToken,
  generatePrivateKey,
  newProvableTokenId,
  verifyEnrolmentProof,
} from '@fairlead/pki';
import type { EnrolRequest } from '@fairlead/proto';
import { testAuthority, type TestAuthority } from '@fairlead/testing';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { identityStore, type TextStore } from './agent-identity.js';
import { enrol } from './enrol.js';
import { issueTo, startScriptedGateway, type Script, type ScriptedGateway } from './testing/scripted-gateway.js';

const CLUSTER = randomUUID();
const facts = { agentVersion: 't', kubernetesVersion: 't', platform: 't' };
const secret = randomBytes(32);
const id = newProvableTokenId();
const proofKey = enrolmentProofKey({ id, secret });
let ours: TestAuthority;
let values: Record<string, string>;

const store: TextStore = {
  read: () => Promise.resolve({ values: { ...values } }),
  write: (changed) => Promise.resolve(void Object.assign(values, changed)),
};

beforeAll(async () => {
  ours = await testAuthority();
});
beforeEach(() => {
  values = {};
});

async function gatewayThat(answer: NonNullable<Script['enrol']>): Promise<ScriptedGateway> {
  const { privateKeyPem, chainPem } = await ours.gateway('gateway-a');
  const discover = { endpoints: [], rootsPem: [...ours.roots], trustDomain: 'fairlead.local' };
  return startScriptedGateway({ key: privateKeyPem, cert: chainPem, discover, enrol: answer });
}

const enrolAt = ({ endpoint }: ScriptedGateway, tokenId = id) =>
  enrol({
    endpoint,
    proxy: { noProxy: [] },
    token: formatToken({ pin: ours.pins[0] as string, id: tokenId, secret }),
    pins: [],
    store: identityStore(store),
    facts,
    logger: silentLogger,
    signal: AbortSignal.timeout(15_000),
  });

/** What registration does with what a gateway passes on. */
function asRegistration(request: EnrolRequest): ReturnType<NonNullable<Script['enrol']>> {
  if (verifyEnrolmentProof(proofKey, request.tokenId, request.csrDer, request.proof)) {
    return issueTo(ours, CLUSTER, request);
  }
  throw new FairleadError('TOKEN_UNKNOWN', 'the bootstrap token is not known');
}

/** In any form it is ever written in. */
function holdsSecret({ received }: ScriptedGateway): boolean {
  const heard = Buffer.concat(received);
  const written = (['base64url', 'base64', 'hex'] as const).map((encoding) => Buffer.from(secret.toString(encoding)));
  return [secret, ...written].some((form) => heard.indexOf(form) !== -1);
}

describe('a token whose registration takes proofs', () => {
  it('is proved to have, for this request, and its secret is in nothing that is sent', async () => {
    await using gateway = await gatewayThat(asRegistration);
    await expect(enrolAt(gateway)).resolves.toMatchObject({ clusterId: CLUSTER, tokenId: id });
    expect(gateway.calls).toEqual(['Discover', 'Enrol']);
    expect(Buffer.concat(gateway.received).includes(id)).toBe(true);
    expect(holdsSecret(gateway)).toBe(false);
  });

  it('is no use to a gateway that puts a key of its own in the place of the agent’s', async () => {
    const csrDer = new Uint8Array(await createCsr(await generatePrivateKey()));
    await using liar = await gatewayThat((request) => asRegistration({ ...request, csrDer }));
    await expect(enrolAt(liar)).rejects.toMatchObject({ code: 'TOKEN_UNKNOWN' });
    expect(holdsSecret(liar)).toBe(false);
    await using honest = await gatewayThat(asRegistration);
    await expect(enrolAt(honest)).resolves.toMatchObject({ clusterId: CLUSTER });
  });

  it.each(['TOKEN_UNKNOWN', 'INVALID_ARGUMENT', 'UNAVAILABLE', 'INTERNAL'] as const)(
    'is not sent whole to a gateway that says %s to its proof',
    async (code) => {
      await using gateway = await gatewayThat(() => Promise.reject(new FairleadError(code, 'send the secret')));
      for (const _ of [1, 2]) await expect(enrolAt(gateway)).rejects.toMatchObject({ code });
      expect(gateway.calls.filter((call) => call === 'Enrol')).toHaveLength(2);
      expect(holdsSecret(gateway)).toBe(false);
    },
  );
});

it('a token of a registration that knows no proofs is sent whole, as before', async () => {
  const sent: EnrolRequest[] = [];
  await using gateway = await gatewayThat((request) => {
    sent.push(request);
    return issueTo(ours, CLUSTER, request);
  });
  await enrolAt(gateway, randomUUID());
  expect(sent.map((request) => [Buffer.from(request.secret).equals(secret), request.proof.length])).toEqual([
    [true, 0],
  ]);
  expect(holdsSecret(gateway)).toBe(true);
});
