import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { FairleadError } from '@fairlead/errors';
import { silentLogger, type Logger } from '@fairlead/observability';
import { checkCsr, formatToken, highestVersion, issueIdentity, type SignedTrust } from '@fairlead/pki';
import type { EnrolRequest } from '@fairlead/proto';
import { eventually, testAuthority, type TestAuthority, type TestCertificate } from '@fairlead/testing';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  issueTo,
  onWire,
  startScriptedGateway,
  trustOf,
  type Script,
  type ScriptedGateway,
} from './testing/scripted-gateway.js';
import { identityStore, type IdentityStore, type TextStore } from './agent-identity.js';
import { runAgent } from './agent.js';
import { enrol, renew } from './enrol.js';
import { connectToGateway } from './gateway-connection.js';

const CLUSTER = randomUUID();
const facts = { agentVersion: 't', kubernetesVersion: 't', platform: 't' };
const secret = randomBytes(32);
let ours: TestAuthority;
let theirs: TestAuthority;
let token: string;
let values: Record<string, string>;

const store: TextStore = {
  read: () => Promise.resolve({ values: { ...values } }),
  write: (changed) => Promise.resolve(void Object.assign(values, changed)),
};

beforeAll(async () => {
  [ours, theirs] = await Promise.all([testAuthority(), testAuthority()]);
  token = formatToken({ pin: ours.pins[0] as string, id: 'token-1', secret });
});

beforeEach(() => {
  values = {};
});

function script(certificate: TestCertificate, rootsPem: readonly string[], change: Partial<Script> = {}): Script {
  return {
    key: certificate.privateKeyPem,
    cert: certificate.chainPem,
    discover: { endpoints: [], rootsPem: [...rootsPem], trustDomain: 'fairlead.local' },
    enrol: (request) => issueTo(ours, CLUSTER, request),
    ...change,
  };
}

/** What our own CA answers, with another bundle. */
const issued = async (request: EnrolRequest, trust?: Promise<SignedTrust>) => {
  const answer = await issueTo(ours, CLUSTER, request);
  return trust ? { ...answer, trust: onWire(await trust) } : answer;
};

const enrolAt = (
  { endpoint }: ScriptedGateway,
  change: {
    pins?: string[];
    token?: null;
    trustDomain?: string;
    clusterId?: string;
    logger?: Logger;
    store?: IdentityStore;
  } = {},
) =>
  enrol({
    endpoint,
    proxy: { noProxy: [] },
    token,
    pins: [],
    store: identityStore(store),
    facts,
    logger: silentLogger,
    signal: AbortSignal.timeout(10_000),
    ...change,
  });

/** Nothing that was received holds the secret, in any of the forms it is ever written in. */
function secretWasSeen({ calls, received }: ScriptedGateway): boolean {
  const heard = Buffer.concat(received);
  const forms = [secret, Buffer.from(secret.toString('base64url')), Buffer.from(secret.toString('base64'))];
  return calls.includes('Enrol') || forms.some((form) => heard.indexOf(form) !== -1);
}

it('takes no other cluster’s identity than the one that its manifest is of', async () => {
  // As of a gateway that shows this agent's request with a token of its own.
  await using gateway = await startScriptedGateway(script(await ours.gateway('gateway-a'), ours.roots));
  const refused = enrolAt(gateway, { clusterId: randomUUID() });
  await expect(refused).rejects.toMatchObject({ code: 'CERTIFICATE_REFUSED' });
  expect(Object.keys(values)).not.toContain('identity');
  await expect(enrolAt(gateway, { clusterId: CLUSTER })).resolves.toMatchObject({ clusterId: CLUSTER });
});

describe('an agent without a token', () => {
  it('asks the gateway that proved a pinned root, with the same key until it is let in', async () => {
    const keys: string[] = [];
    const waitTwice: Script['enrol'] = async (request) => {
      keys.push((await checkCsr(request.csrDer)).spkiSha256);
      expect([request.tokenId, request.secret.length]).toEqual(['', 0]);
      if (keys.length <= 2) throw new FairleadError('ENROLMENT_PENDING', 'an administrator has to decide');
      return issueTo(ours, CLUSTER, request);
    };
    const change = { enrol: waitTwice };
    await using gateway = await startScriptedGateway(script(await ours.gateway('gateway-a'), ours.roots, change));
    const asking = { pins: [...ours.pins], token: null };
    for (const _ of [1, 2]) {
      await expect(enrolAt(gateway, asking)).rejects.toMatchObject({ code: 'ENROLMENT_PENDING' });
    }
    await expect(enrolAt(gateway, asking)).resolves.toMatchObject({ clusterId: CLUSTER, rootsPem: ours.roots });
    expect(new Set(keys).size).toBe(1);
  });

  it('asks nobody without pins, and nobody who cannot prove a pinned root', async () => {
    await using gateway = await startScriptedGateway(script(await ours.gateway('gateway-a'), ours.roots));
    await expect(enrolAt(gateway, { token: null })).rejects.toMatchObject({ code: 'UNTRUSTED_PEER' });
    expect(gateway.calls).toEqual([]);
    const pins = [...theirs.pins];
    await expect(enrolAt(gateway, { token: null, pins })).rejects.toMatchObject({ code: 'UNTRUSTED_PEER' });
    expect(gateway.calls).toEqual(['Discover']);
  });

  it('waits politely, says for what, and is not ready', async () => {
    const enrolNever: Script['enrol'] = () => {
      throw new FairleadError('ENROLMENT_PENDING', 'waiting for an administrator to approve the key abc');
    };
    const change = { enrol: enrolNever };
    await using gateway = await startScriptedGateway(script(await ours.gateway('gateway-a'), ours.roots, change));
    const stopping = new AbortController();
    const agent = runAgent(
      {
        endpoints: [gateway.endpoint],
        proxy: { noProxy: [] },
        pins: [...ours.pins],
        adoption: true,
        links: 1,
        store: identityStore(store),
        token: () => Promise.resolve(null),
        kubeApi: { host: '127.0.0.1', port: 1, caPem: '', token: () => Promise.resolve('') },
        facts,
        logger: silentLogger,
      },
      stopping.signal,
    );
    await eventually(() => {
      expect(agent.readiness()).toMatchObject([
        { ok: false, detail: expect.stringContaining('the key abc') as string },
      ]);
    });
    stopping.abort();
    await agent.done;
    expect(gateway.calls.filter((call) => call === 'Enrol')).toHaveLength(1);
  });
});

describe('enrolment', () => {
  it('asks the public document first, then spends the token at the gateway that proved its root', async () => {
    await using gateway = await startScriptedGateway(script(await ours.gateway('gateway-a'), ours.roots));
    const identity = await enrolAt(gateway, { pins: [...ours.pins] });
    expect(gateway.calls).toEqual(['Discover', 'Enrol']);
    expect(identity).toMatchObject({ clusterId: CLUSTER, generation: 1, rootsPem: ours.roots, trustVersion: 1 });
    expect((await identityStore(store).load()).identity).toEqual(identity);
  });

  it('finds its root among others, current and next', async () => {
    const roots = ['nonsense', ...theirs.roots, ...ours.roots];
    await using gateway = await startScriptedGateway(script(await ours.gateway('gateway-a'), roots));
    await expect(enrolAt(gateway)).resolves.toMatchObject({ clusterId: CLUSTER });
  });

  it.each<[string, () => Promise<Script>]>([
    ['has a chain of its own', async () => script(await theirs.gateway('gateway-a'), theirs.roots)],
    ['shows our root and cannot prove it', async () => script(await theirs.gateway('gateway-a'), ours.roots)],
    [
      'hides its root behind ours in one text',
      async () => script(await theirs.gateway('gateway-a'), [`${ours.roots[0]}${theirs.roots[0]}`]),
    ],
    [
      'hides our root behind its own',
      async () => script(await theirs.gateway('gateway-a'), [`${theirs.roots[0]}${ours.roots[0]}`]),
    ],
    ['is an agent of ours', async () => script(await ours.agent(CLUSTER), ours.roots)],
    ['is a service of ours', async () => script(await ours.service('registration'), ours.roots)],
    ['is a serving certificate of ours', async () => script(await ours.serving(['127.0.0.1']), ours.roots)],
    [
      'claims another trust domain',
      async () => {
        const honest = script(await ours.gateway('gateway-a'), ours.roots);
        return { ...honest, discover: { ...honest.discover, trustDomain: 'elsewhere' } };
      },
    ],
    [
      'has a certificate that expired',
      async () => {
        const past = { notBefore: new Date(Date.now() - 7_200_000), notAfter: new Date(Date.now() - 3_600_000) };
        return script(await ours.gateway('gateway-a', past), ours.roots);
      },
    ],
  ])('sends no token to a peer that %s', async (_, make) => {
    await using gateway = await startScriptedGateway(await make());
    await expect(enrolAt(gateway)).rejects.toMatchObject({ code: 'UNTRUSTED_PEER' });
    expect(gateway.calls[0]).toBe('Discover');
    expect(secretWasSeen(gateway)).toBe(false);
    expect(values['identity']).toBeUndefined();
  });

  it('sends no token to a gateway of another trust domain than the manifest names, below the pinned root', async () => {
    const neighbour = await testAuthority({ trustDomain: 'neighbour.example', below: ours });
    const honest = script(await neighbour.gateway('gateway-a'), ours.roots);
    const discover = { ...honest.discover, trustDomain: 'neighbour.example' };
    await using gateway = await startScriptedGateway({ ...honest, discover });
    const asking = { trustDomain: 'fairlead.local' };
    await expect(enrolAt(gateway, asking)).rejects.toMatchObject({ code: 'UNTRUSTED_PEER' });
    expect(gateway.calls).toEqual(['Discover']);
    expect(secretWasSeen(gateway)).toBe(false);
  });

  it('says which key it asks for, so that one which spent the token in its place is seen', async () => {
    let asked = '';
    const lines: { event: string; fields: unknown }[] = [];
    const info = (event: string, fields?: unknown): void => void lines.push({ event, fields });
    const answer: Script['enrol'] = async (request) => {
      asked = (await checkCsr(request.csrDer)).spkiSha256;
      throw new FairleadError('TOKEN_USED', 'another key spent it');
    };
    const change = { enrol: answer };
    await using gateway = await startScriptedGateway(script(await ours.gateway('gateway-a'), ours.roots, change));
    await expect(enrolAt(gateway, { logger: { ...silentLogger, info } })).rejects.toMatchObject({ code: 'TOKEN_USED' });
    const fields = { tokenId: 'token-1', fingerprint: asked };
    expect(lines).toContainEqual({ event: 'agent.enrolling', fields });
    expect(asked).toHaveLength(64);
  });

  it('does not even dial when the manifest pins other roots than the token', async () => {
    await using gateway = await startScriptedGateway(script(await ours.gateway('gateway-a'), ours.roots));
    await expect(enrolAt(gateway, { pins: [...theirs.pins] })).rejects.toMatchObject({ code: 'UNTRUSTED_PEER' });
    expect(gateway.calls).toEqual([]);
  });

  it('asks again with the same key after it died between asking and storing the answer', async () => {
    const keys: string[] = [];
    const enrolOnce: NonNullable<Script['enrol']> = async (request, session) => {
      keys.push((await checkCsr(request.csrDer)).spkiSha256);
      if (keys.length === 1) session.destroy();
      return issueTo(ours, CLUSTER, request);
    };
    const gateway = await startScriptedGateway(
      script(await ours.gateway('gateway-a'), ours.roots, { enrol: enrolOnce }),
    );
    await expect(enrolAt(gateway)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(enrolAt(gateway)).resolves.toMatchObject({ clusterId: CLUSTER });
    expect(keys).toHaveLength(2);
    expect(keys[0]).toBe(keys[1]);
    await gateway[Symbol.asyncDispose]();
  });

  it.each<[string, NonNullable<Script['enrol']>, string]>([
    [
      'for another cluster',
      async (request) => ({ ...(await issueTo(ours, CLUSTER, request)), clusterId: randomUUID() }),
      'CERTIFICATE_REFUSED',
    ],
    [
      'for another key',
      async (request) => {
        const other = await ours.agent(CLUSTER);
        return { ...(await issueTo(ours, CLUSTER, request)), chainPem: [...other.chain] };
      },
      'CERTIFICATE_REFUSED',
    ],
    [
      'without a trust bundle',
      async (request) => ({ ...(await issued(request)), trust: undefined }),
      'CERTIFICATE_REFUSED',
    ],
    ['with roots that another CA signed', (request) => issued(request, trustOf(theirs)), 'CERTIFICATE_REFUSED'],
    [
      'with roots that another service of ours signed',
      (request) => issued(request, trustOf(ours, { name: 'registration' })),
      'CERTIFICATE_REFUSED',
    ],
    [
      'with roots that were changed under way',
      async (request) => {
        const [bundle, { signature, signerChainPem }] = [(await trustOf(theirs)).bundle, await trustOf(ours)];
        return issued(request, Promise.resolve({ bundle, signature, signerChainPem }));
      },
      'CERTIFICATE_REFUSED',
    ],
    ['that it signed itself, beside our issuing CA and root', forgedEnrolment, 'CERTIFICATE_REFUSED'],
    [
      'of another enrolment than the answer says',
      async (request) => ({ ...(await issued(request)), generation: 2 }),
      'CERTIFICATE_REFUSED',
    ],
    [
      'that has expired',
      async (request) => ({
        ...(await issued(request)),
        chainPem: await chainFor(request.csrDer, ours, { endedMs: 1 }),
      }),
      'CERTIFICATE_REFUSED',
    ],
    [
      'with roots of a rotation that is over by what its certificate says',
      async (request) => ({
        ...(await issueTo(ours, CLUSTER, request, 3)),
        trust: onWire(await trustOf(ours, { version: 2 })),
      }),
      'UNAVAILABLE',
    ],
    [
      'of a root that is not among those it is told to trust',
      (request) => issued(request, trustOf(ours, { rootsPem: theirs.roots })),
      'CERTIFICATE_REFUSED',
    ],
  ])('stores no identity %s', async (_, issue, code) => {
    await using gateway = await startScriptedGateway(
      script(await ours.gateway('gateway-a'), ours.roots, { enrol: issue }),
    );
    await expect(enrolAt(gateway)).rejects.toMatchObject({ code });
    expect(values['identity']).toBeUndefined();
  });
});

it.each([3, 4])(
  'an agent that enrols takes version %i of the bundle with a certificate of version 3',
  async (version) => {
    const answer: Script['enrol'] = async (request) => ({
      ...(await issueTo(ours, CLUSTER, request, 3)),
      trust: onWire(await trustOf(ours, { version })),
    });
    await using gateway = await startScriptedGateway(
      script(await ours.gateway('gateway-a'), ours.roots, { enrol: answer }),
    );
    expect(await enrolAt(gateway)).toMatchObject({ trustVersion: version, trustSince: { version } });
  },
);

it('an agent that enrols takes the version of an old installation, and none above what anybody takes at this time', async () => {
  const highest = highestVersion(new Date());
  let version = highest + 10;
  const enrolling: Script['enrol'] = (request) => issued(request, trustOf(ours, { version }));
  await using gateway = await startScriptedGateway(
    script(await ours.gateway('gateway-a'), ours.roots, { enrol: enrolling }),
  );
  const refused = enrolAt(gateway);
  await expect(refused).rejects.toMatchObject({
    code: 'CERTIFICATE_REFUSED',
    message: expect.stringContaining('too far ahead'),
  });
  expect(values['identity']).toBeUndefined();
  version = highest;
  expect(await enrolAt(gateway)).toMatchObject({ trustVersion: highest, trustSince: { version: highest } });
});

describe('a renewal', () => {
  const renewAt = async (answer: NonNullable<Script['renew']>) => {
    await using gateway = await startScriptedGateway(
      script(await ours.gateway('gateway-a'), ours.roots, { renew: answer }),
    );
    const identity = await enrolAt(gateway);
    const before = values['identity'];
    const signal = AbortSignal.timeout(10_000);
    const { rootsPem, trustDomain } = identity;
    const trust = { kind: 'roots', rootsPem, trustDomain } as const;
    using connection = await connectToGateway({ endpoint: gateway.endpoint, proxy: { noProxy: [] }, trust, signal });
    try {
      const change = await renew(connection, identity, silentLogger, signal);
      return change(identity);
    } finally {
      // What it makes of the answer, it does not store by itself.
      expect(values['identity']).toBe(before);
    }
  };
  const trust = async () => onWire(await trustOf(ours));

  it('takes what our CA issued for its new key', async () => {
    const renewed = await renewAt(async ({ csrDer }) => ({
      chainPem: await chainFor(csrDer, ours),
      trust: await trust(),
    }));
    expect(renewed).toMatchObject({ clusterId: CLUSTER, generation: 1 });
  });

  it.each([
    [1_001, 1_001],
    [1_002, 1],
  ])('that brings version %i of the bundle on the first day has version %i at the end', async (version, held) => {
    const renewed = await renewAt(async ({ csrDer }) => ({
      chainPem: await chainFor(csrDer, ours),
      trust: onWire(await trustOf(ours, { version })),
    }));
    expect(renewed).toMatchObject({ trustVersion: held, trustSince: { version: 1 } });
  });

  it.each<[string, (csrDer: Uint8Array) => Promise<string[]>]>([
    ['that the gateway signed itself, beside our issuing CA and root', forgedChain],
    ['that has expired', (csrDer) => chainFor(csrDer, ours, { endedMs: 1 })],
    ['of another enrolment', (csrDer) => chainFor(csrDer, ours, { generation: 2 })],
    ['of another trust domain', async (csrDer) => chainFor(csrDer, { ...ours, trustDomain: 'neighbour.example' })],
  ])('leaves the identity as it is for a certificate %s', async (_, chain) => {
    const answer: Script['renew'] = async ({ csrDer }) => ({ chainPem: await chain(csrDer), trust: await trust() });
    await expect(renewAt(answer)).rejects.toMatchObject({ code: 'CERTIFICATE_REFUSED' });
  });
});

/** For this key, by the CA of this authority. */
async function chainFor(
  csrDer: Uint8Array,
  { trustDomain, issuing, root }: TestAuthority,
  { endedMs = -3_600_000, generation = 1 } = {},
): Promise<string[]> {
  const { certificatePem } = await issueIdentity(issuing, {
    csr: await checkCsr(csrDer),
    id: { kind: 'agent', trustDomain, clusterId: CLUSTER },
    generation,
    notBefore: new Date(Date.now() - 7_200_000),
    notAfter: new Date(Date.now() - endedMs),
  });
  return [certificatePem, issuing.certificatePem, root.certificatePem];
}

/** What a gateway without a CA key can make: a leaf by anybody, and the certificates that everybody has. */
async function forgedChain(csrDer: Uint8Array): Promise<string[]> {
  const [leaf = ''] = await chainFor(csrDer, theirs);
  return [leaf, ours.issuing.certificatePem, ours.root.certificatePem];
}

async function forgedEnrolment(request: EnrolRequest) {
  return { ...(await issued(request)), chainPem: await forgedChain(request.csrDer) };
}

describe('an agent', () => {
  const start = async (gateway: ScriptedGateway, given: string | null, clusterId?: string) => {
    const stopping = new AbortController();
    let reads = 0;
    const agent = runAgent(
      {
        endpoints: [gateway.endpoint],
        proxy: { noProxy: [] },
        pins: [],
        clusterId,
        links: 1,
        store: identityStore(store),
        token: () => {
          reads += 1;
          return Promise.resolve(given);
        },
        kubeApi: { host: '127.0.0.1', port: 1, caPem: '', token: () => Promise.resolve('') },
        facts,
        logger: silentLogger,
      },
      stopping.signal,
    );
    const stop = async (): Promise<void> => {
      stopping.abort();
      await agent.done;
    };
    return { agent, stop, reads: () => reads };
  };

  it('without an identity and without a token says so, and dials nobody', async () => {
    await using gateway = await startScriptedGateway(script(await ours.gateway('gateway-a'), ours.roots));
    const { agent, stop } = await start(gateway, null);
    await eventually(() => expect(agent.readiness()[0]?.detail).toContain('UNAUTHENTICATED'));
    expect(agent.readiness()[0]?.detail).toContain('fairlead cluster import');
    await stop();
    expect(gateway.calls).toEqual([]);
  });

  describe('whose stored identity is of another cluster than its manifest', () => {
    const OTHER = randomUUID();
    const storedOf = async (clusterId: string, tokenId: string): Promise<string> => {
      const { privateKeyPem, chain } = await ours.agent(clusterId);
      const roots = { rootsPem: ours.roots, trustVersion: 1, trustDomain: 'fairlead.local' };
      const own = { clusterId, tokenId, generation: 1, keyPem: privateKeyPem, chainPem: chain };
      return JSON.stringify({ ...own, ...roots });
    };

    it.each([
      ['no token', null],
      ['the token that it was spent for', 'token-1'],
    ])('says what to do if there is %s, dials nobody, and keeps what it has', async (_, tokenId) => {
      const stored = await storedOf(OTHER, 'token-1');
      values = { identity: stored };
      await using gateway = await startScriptedGateway(script(await ours.gateway('gateway-a'), ours.roots));
      const { agent, stop } = await start(gateway, tokenId && token, CLUSTER);
      await eventually(() => expect(agent.readiness()[0]?.detail).toContain('UNAUTHENTICATED'));
      const said = agent.readiness()[0]?.detail;
      for (const part of [OTHER, CLUSTER, 'fairlead cluster import']) expect(said).toContain(part);
      await stop();
      expect(gateway.calls).toEqual([]);
      expect(values).toEqual({ identity: stored });
    });

    it('enrols as the cluster of its manifest by a token of that one, and keeps the other until then', async () => {
      const stored = await storedOf(OTHER, 'token-0');
      values = { identity: stored };
      let refusals = 0;
      const change: Partial<Script> = {
        enrol: (request) => {
          expect(values['identity']).toBe(stored);
          refusals += 1;
          if (refusals === 1) throw new FairleadError('UNAVAILABLE', 'not yet');
          return issueTo(ours, CLUSTER, request);
        },
      };
      await using gateway = await startScriptedGateway(script(await ours.gateway('gateway-a'), ours.roots, change));
      const { stop } = await start(gateway, token, CLUSTER);
      await eventually(() => expect(JSON.parse(values['identity'] ?? '{}')).toMatchObject({ clusterId: CLUSTER }));
      await stop();
      expect(refusals).toBe(2);
    });
  });

  it.each([
    ['not JSON', '{'],
    ['of another shape', '{"clusterId":"x"}'],
  ])('whose stored identity cannot be read (%s) never enrols anew', async (_, stored) => {
    values = { identity: stored };
    await using gateway = await startScriptedGateway(script(await ours.gateway('gateway-a'), ours.roots));
    const { agent, stop, reads } = await start(gateway, token);
    await eventually(() => expect(agent.readiness()[0]?.detail).toContain('cannot be read'));
    await delay(1_500);
    await stop();
    expect([reads(), gateway.calls]).toEqual([0, []]);
    expect(values).toEqual({ identity: stored });
  });

  it.each(['TOKEN_UNKNOWN', 'TOKEN_USED', 'TOKEN_EXPIRED', 'TOKEN_REVOKED'] as const)(
    'that is refused for good (%s) does not hammer',
    async (code) => {
      const refuse = (): Promise<never> => Promise.reject(new FairleadError(code, 'no'));
      await using gateway = await startScriptedGateway(
        script(await ours.gateway('gateway-a'), ours.roots, { enrol: refuse }),
      );
      const { agent, stop } = await start(gateway, token);
      await eventually(() => expect(agent.readiness()[0]?.detail).toContain(code));
      await delay(1_500);
      expect(gateway.calls).toEqual(['Discover', 'Enrol']);
      expect(agent.readiness()[0]?.detail).not.toContain(secret.toString('base64url'));
      await stop();
    },
  );

  it('stops at once while it waits', async () => {
    await using gateway = await startScriptedGateway(script(await theirs.gateway('gateway-a'), theirs.roots));
    const { agent, stop } = await start(gateway, token);
    await eventually(() => expect(agent.readiness()[0]?.detail).toContain('UNTRUSTED_PEER'));
    await stop();
    // Whoever waits for the next try waits for half a minute at least.
  }, 25_000);
});

describe('two pods of one agent, whose store is one', () => {
  /** As a Secret is: whoever saves says what version it has read. */
  const shared = (): TextStore => {
    let version = 0;
    return {
      read: () => Promise.resolve({ values: { ...values }, version: String(version) }),
      write: async (changed, read) => {
        await delay(1);
        if (read !== undefined && read !== String(version)) throw new FairleadError('CONFLICT', 'somebody was earlier');
        version += 1;
        Object.assign(values, changed);
      },
    };
  };

  it('spend the token for one key, and have one identity', async () => {
    const keys: string[] = [];
    const enrolOnce: Script['enrol'] = async (request) => {
      keys.push((await checkCsr(request.csrDer)).spkiSha256);
      return issueTo(ours, CLUSTER, request);
    };
    const change = { enrol: enrolOnce };
    await using gateway = await startScriptedGateway(script(await ours.gateway('gateway-a'), ours.roots, change));
    const store = identityStore(shared());
    const [one, other] = await Promise.all([enrolAt(gateway, { store }), enrolAt(gateway, { store })]);
    expect(new Set(keys).size).toBe(1);
    expect(other).toEqual(one);
    expect((await store.load()).identity).toEqual(one);
  });

  it('that are later find what the first one got, and do not ask', async () => {
    await using gateway = await startScriptedGateway(script(await ours.gateway('gateway-a'), ours.roots));
    const store = identityStore(shared());
    const one = await enrolAt(gateway, { store });
    expect(await enrolAt(gateway, { store })).toEqual(one);
    expect(gateway.calls.filter((call) => call === 'Enrol')).toHaveLength(1);
  });
});
