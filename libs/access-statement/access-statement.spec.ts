import { randomUUID } from 'node:crypto';
import { createIssuing, signStatement } from '@fairlead/pki';
import { testAuthority, type TestAuthority } from '@fairlead/testing';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type AccessStatement } from './access-statement.js';
import { joinBearer, splitBearer } from './bearer.js';
import { packEnvelope, unpackEnvelope } from './envelope.js';
import { signAccessStatement } from './signed-access-statement.js';
import { SignedTime } from './signed-time.js';
import { StatementVerifier } from './statement-verifier.js';

const MINUTE_MS = 60_000;
const startMs = Date.now();
const at = (minutes: number): string => new Date(startMs + minutes * MINUTE_MS).toISOString();
const cluster = { clusterId: randomUUID(), tenantId: 'default' };
const statement: AccessStatement = {
  version: 1,
  ...cluster,
  tokenId: randomUUID(),
  kind: 'login',
  user: 'corp:alice',
  rules: [{ grantId: randomUUID(), effect: 'allow', groups: ['fairlead:view'], narrowing: { namespaces: ['shop'] } }],
  notBefore: at(0),
  openUntil: at(30),
  streamsUntil: at(60),
  serial: randomUUID(),
};

let authority: TestAuthority;
let nowMs: number;
let trust: { rootsPem: readonly string[]; trustDomain: string };
let time: SignedTime;
let verifier: StatementVerifier;

async function signerOf(who: Promise<{ privateKeyPem: string; chain: readonly string[] }>) {
  const { privateKeyPem, chain } = await who;
  return { keyPem: privateKeyPem, chainPem: chain.slice(0, -1) };
}
const honest = () => signerOf(authority.service('access-statements'));
const signed = async (change: Partial<AccessStatement> = {}) =>
  signAccessStatement({ ...statement, ...change }, await honest());
const opened = (envelope: Uint8Array, where = cluster) => verifier.open(envelope, where);
/** What the holder of the envelope makes of what is in it. */
function changed(envelope: Uint8Array, change: (document: AccessStatement) => unknown): Uint8Array {
  const { document, ...rest } = unpackEnvelope(envelope);
  const said = change(JSON.parse(Buffer.from(document).toString()) as AccessStatement);
  return packEnvelope({ ...rest, document: Buffer.from(JSON.stringify(said)) });
}

beforeAll(async () => {
  authority = await testAuthority();
});

beforeEach(() => {
  nowMs = startMs + 1_000;
  trust = { rootsPem: authority.roots, trustDomain: authority.trustDomain };
  time = new SignedTime(() => nowMs);
  verifier = new StatementVerifier({ trust: () => trust, time });
});

it('opens what was signed, as it was signed, again and again until its end, and not after it', async () => {
  const envelope = await signed();
  const first = await opened(envelope);
  expect(first).toMatchObject({ statement, openUntilMs: Date.parse(at(30)), streamsUntilMs: Date.parse(at(60)) });
  expect(await opened(envelope)).toBe(first);
  nowMs = startMs + 30 * MINUTE_MS - 1;
  expect(await opened(envelope)).toBe(first);
  nowMs += 1;
  await expect(opened(envelope)).rejects.toMatchObject({ code: 'STATEMENT_EXPIRED' });
});

describe('nobody takes one that', () => {
  const refusals: [string, (envelope: Uint8Array) => Uint8Array][] = [
    ['was extended', (envelope) => changed(envelope, (said) => ({ ...said, openUntil: at(59) }))],
    ['has another user', (envelope) => changed(envelope, (said) => ({ ...said, user: 'corp:bob' }))],
    [
      'was widened',
      (envelope) =>
        changed(envelope, ({ rules: [rule], ...said }) => ({ ...said, rules: [{ ...rule, narrowing: {} }] })),
    ],
    ['was moved', (envelope) => changed(envelope, (said) => ({ ...said, clusterId: randomUUID() }))],
    ['was cut off', (envelope) => envelope.subarray(0, -1)],
    ['was cut off within its chain', (envelope) => envelope.subarray(0, 300)],
    ['is empty', () => new Uint8Array()],
    ['has bytes behind it', (envelope) => Buffer.concat([envelope, Buffer.from(' ')])],
    ['is of another version', (envelope) => Uint8Array.from(envelope, (byte, index) => (index === 0 ? 2 : byte))],
    ['has one bit more', (envelope) => Uint8Array.from(envelope, (byte, index) => (index === 200 ? byte ^ 1 : byte))],
    ['is too large', (envelope) => Buffer.concat([envelope, Buffer.alloc(32_768)])],
    [
      'has no chain to the root',
      (envelope) => {
        const { signerChainPem, ...rest } = unpackEnvelope(envelope);
        return packEnvelope({ ...rest, signerChainPem: signerChainPem.slice(0, 1) });
      },
    ],
  ];
  it.each(refusals)('%s', async (_, change) => {
    await expect(opened(change(await signed()))).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
  });

  it('is for another cluster, or another tenant', async () => {
    const envelope = await signed();
    const elsewhere = [
      { ...cluster, clusterId: randomUUID() },
      { ...cluster, tenantId: 'other' },
    ];
    for (const where of elsewhere) {
      await expect(opened(envelope, where)).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
    }
  });

  const others: [string, () => Promise<{ privateKeyPem: string; chain: readonly string[] }>][] = [
    ['an agent', () => authority.agent(cluster.clusterId)],
    ['a gateway', () => authority.gateway('access-statements')],
    ['the keys service, for all else', () => authority.service('keys')],
    ['another service', () => authority.service('access')],
    [
      'a signer whose certificate has ended',
      () => authority.service('access-statements', { notAfter: new Date(startMs) }),
    ],
    ['a signer of another installation', async () => (await testAuthority()).service('access-statements')],
    [
      'a signer of another trust domain below the same root',
      async () => (await testAuthority({ trustDomain: 'other', below: authority })).service('access-statements'),
    ],
  ];
  it.each(others)('%s signed', async (_, other) => {
    const envelope = await signAccessStatement(statement, await signerOf(other()));
    await expect(opened(envelope)).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
  });

  it('an honest key signed, shown with the chain of another', async () => {
    const { signerChainPem: _chain, ...rest } = unpackEnvelope(await signed());
    const { chainPem: signerChainPem } = await honest();
    await expect(opened(packEnvelope({ ...rest, signerChainPem }))).rejects.toMatchObject({
      code: 'STATEMENT_REFUSED',
    });
  });

  it.each(['fairlead trust bundle v1', 'fairlead desired state v1', 'fairlead access statement v2'])(
    'was signed in the context %s',
    async (context) => {
      const document = Buffer.from(JSON.stringify(statement));
      const envelope = packEnvelope(await signStatement(context, document, await honest()));
      await expect(opened(envelope)).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
    },
  );

  it.each<[string, Partial<AccessStatement>]>([
    ['lasts for longer than its kind may', { openUntil: at(62), streamsUntil: at(62) }],
    ['ends before it begins', { openUntil: at(-1) }],
    ['lets streams run for good', { streamsUntil: at(91 * 24 * 60) }],
    ['names a user of Kubernetes itself', { user: 'System:admin' }],
    ['names a user that no header can carry', { user: 'a\nb' }],
    [
      'says more than there is room for',
      {
        rules: Array.from({ length: 64 }, () => ({
          ...statement.rules[0]!,
          groups: Array.from({ length: 8 }, (_, index) => `${'g'.repeat(200)}${index}`),
        })),
      },
    ],
  ])('%s, and nobody signs it', async (_, change) => {
    await expect(signed(change)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    const document = Buffer.from(JSON.stringify({ ...statement, ...change }));
    if (document.length > 16_384) return;
    const envelope = packEnvelope(await signStatement('fairlead access statement v1', document, await honest()));
    await expect(opened(envelope)).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
  });

  it('says something that is not known here, which might have narrowed it', async () => {
    const document = Buffer.from(JSON.stringify({ ...statement, onlyFrom: '192.0.2.0/24' }));
    const envelope = packEnvelope(await signStatement('fairlead access statement v1', document, await honest()));
    await expect(opened(envelope)).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
  });
});

describe('of clocks,', () => {
  it('one that is behind by a minute takes it, and one that is behind by more says by how much', async () => {
    const envelope = await signed();
    nowMs = startMs - MINUTE_MS - 1;
    await expect(opened(envelope)).rejects.toThrow('one of the two clocks is wrong by 60 s');
    nowMs = startMs - MINUTE_MS;
    await expect(opened(envelope)).resolves.toMatchObject({ statement });
  });

  it('one that is set back brings nothing back', async () => {
    const old = await signed({ notBefore: at(-40), openUntil: at(-10) });
    nowMs = startMs - 20 * MINUTE_MS;
    await opened(old);
    nowMs = startMs;
    await opened(await signed());
    nowMs = startMs - 20 * MINUTE_MS;
    expect(time.nowMs()).toBe(startMs);
    await expect(opened(old)).rejects.toMatchObject({ code: 'STATEMENT_EXPIRED' });
  });

  it('none is moved by what was not signed', async () => {
    await expect(opened(changed(await signed(), (said) => ({ ...said, notBefore: at(1) })))).rejects.toThrow(
      'signature',
    );
    expect(time.nowMs()).toBe(nowMs);
  });
});

it('goes by the roots of the moment, also for what it has opened before', async () => {
  const envelope = await signed();
  await opened(envelope);
  trust = { ...trust, rootsPem: (await testAuthority()).roots };
  await expect(opened(envelope)).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
  trust = { ...trust, rootsPem: [...trust.rootsPem, ...authority.roots] };
  await expect(opened(envelope)).resolves.toMatchObject({ statement });
});

describe('of a signer that was verified before, remembers nothing', () => {
  type Signer = Awaited<ReturnType<typeof honest>>;
  const byOne = (signer: Signer): Promise<Uint8Array> =>
    signAccessStatement({ ...statement, serial: randomUUID() }, signer);
  /** Certificates count to the second. */
  const secondsMs = Math.floor(startMs / 1_000) * 1_000;
  const endMs = secondsMs + 20_000;

  const ends: [string, () => Promise<Signer>][] = [
    ['certificate', () => signerOf(authority.service('access-statements', { notAfter: new Date(endMs) }))],
    [
      'issuing CA',
      async () => {
        const validity = { notBefore: new Date(startMs - 60 * MINUTE_MS), notAfter: new Date(endMs) };
        const issuing = await createIssuing(authority.root, { commonName: 'short', ...validity });
        return signerOf((await testAuthority({ below: { ...authority, issuing } })).service('access-statements'));
      },
    ],
  ];
  it.each(ends)('once its %s has ended, neither of it nor of what it signed', async (_, make) => {
    const signer = await make();
    const [envelope, another] = [await byOne(signer), await byOne(signer)];
    await opened(envelope);
    nowMs = endMs;
    const first = await opened(envelope);
    nowMs = endMs + 1;
    await expect(opened(envelope)).rejects.toThrow('expired');
    await expect(opened(another)).rejects.toThrow('expired');
    nowMs = endMs;
    expect(await opened(envelope)).toBe(first);
  });

  it('while the clock is before it begins', async () => {
    const notBefore = new Date(secondsMs - 10_000);
    const signer = await signerOf(authority.service('access-statements', { notBefore }));
    const old = { ...statement, notBefore: at(-1), serial: randomUUID() };
    const [envelope, another] = [await signAccessStatement(old, signer), await signAccessStatement(old, signer)];
    await opened(envelope);
    nowMs = secondsMs - 10_001;
    await expect(opened(envelope)).rejects.toThrow('not valid before');
    await expect(opened(another)).rejects.toThrow('not valid before');
  });

  it('once its root has retired, by another list or in the same one, or the trust domain is another', async () => {
    const signer = await honest();
    const { roots: others } = await testAuthority();
    const list = [...authority.roots, ...others];
    const changes: [typeof trust, () => void][] = [
      [{ ...trust, rootsPem: list }, () => void (trust = { ...trust, rootsPem: others })],
      [{ ...trust, rootsPem: list }, () => void list.splice(0, authority.roots.length)],
      [{ ...trust, rootsPem: authority.roots }, () => void (trust = { ...trust, trustDomain: 'other' })],
    ];
    for (const [before, change] of changes) {
      trust = before;
      const envelope = await byOne(signer);
      await opened(envelope);
      change();
      await expect(opened(envelope)).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
      await expect(opened(await byOne(signer))).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
    }
  });

  it('that was being verified when its root retired', async () => {
    const signer = await honest();
    const [began, other, later] = [await byOne(signer), await byOne(signer), await byOne(signer)];
    const begun = opened(began);
    trust = { ...trust, rootsPem: [] };
    await expect(opened(other)).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
    await expect(begun).resolves.toMatchObject({ statement: { clusterId: cluster.clusterId } });
    for (const envelope of [began, later]) {
      await expect(opened(envelope)).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
    }
  });
});

describe('beside a secret', () => {
  it('comes back as it went, within what a header holds', async () => {
    const bearer = joinBearer({ secret: 'flt_secret', statement: await signed() });
    expect(bearer).toMatch(/^[A-Za-z0-9._~+/-]+=*$/);
    expect(bearer.length).toBeLessThan(3_000);
    const { secret, statement: envelope } = splitBearer(bearer);
    expect(secret).toBe('flt_secret');
    await expect(opened(envelope!)).resolves.toMatchObject({ statement });
    expect(splitBearer('flt_secret')).toEqual({ secret: 'flt_secret', statement: undefined });
  });

  it.each(['s~', 's~!!', 's~ab~cd', 's~a=', `s~${'A'.repeat(40_000)}`])(
    'is refused where it is none: %.12s',
    (bearer) => {
      expect(() => splitBearer(bearer)).toThrow(expect.objectContaining({ code: 'STATEMENT_REFUSED' }));
    },
  );
});
