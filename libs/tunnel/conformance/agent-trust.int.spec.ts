import type { TrustEntry } from '@fairlead/contracts';
import { startInstallation, type RunningAgent, type TestInstallation } from '@fairlead/installation';
import { highestVersion } from '@fairlead/pki';
import { eventually, testAuthority, type TestAuthority, type TestCertificate } from '@fairlead/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startAgentFacingReplica, type AgentFacingReplica, type AgentLink } from './scripted-replica.js';

let installation: TestInstallation;
let theirs: TestAuthority;
let replica: AgentFacingReplica;
let agent: RunningAgent;
let link: AgentLink;

beforeAll(async () => {
  [installation, theirs] = await Promise.all([startInstallation(), testAuthority()]);
});

afterAll(() => installation?.[Symbol.asyncDispose]());

beforeEach(async () => {
  replica = await startAgentFacingReplica(installation.authority);
  agent = await installation.startAgent({ replicas: [], endpoints: [replica.address], apiPort: 1, trustVersion: 1 });
  link = replica.links[0] as AgentLink;
});

afterEach(async () => {
  await agent.stop();
  await replica[Symbol.asyncDispose]();
});

type Change = Parameters<TestInstallation['ca']['bundle']>[0];

const signed = (change: Change): Promise<TrustEntry> => installation.ca.bundle(change);
const ours = (): readonly string[] => installation.authority.roots;
const both = (): string[] => [...ours(), ...theirs.roots];
const signerOf = ({ privateKeyPem, chain }: TestCertificate) => ({
  keyPem: privateKeyPem,
  chainPem: chain.slice(0, -1),
});

function tell({ bundle, signerChain, signature }: TrustEntry, to: AgentLink = link): void {
  const [bytes, proof] = [Buffer.from(bundle, 'base64'), Buffer.from(signature, 'base64')];
  to.say({ case: 'trust', value: { bundle: bytes, signerChainPem: [...signerChain], signature: proof } });
}

interface Stored {
  readonly trustVersion: number;
  readonly rootsPem: string[];
  readonly trustSince: { readonly version: number; readonly atMs: number };
}
const stored = (): Stored => JSON.parse(agent.stored['identity'] ?? '{}') as Stored;
const last = (): AgentLink => replica.links.at(-1) as AgentLink;

/** The same agent, with what it had stored, changed. */
async function startAgain(change: (identity: Stored) => Stored): Promise<void> {
  await agent.stop();
  const identity = JSON.stringify(change(stored()));
  const { links } = replica;
  const before = links.length;
  agent = await installation.startAgent({
    replicas: [],
    endpoints: [replica.address],
    apiPort: 1,
    stored: { ...agent.stored, identity },
  });
  await eventually(() => expect(links.length).toBeGreaterThan(before));
}

/** Told what it holds, an agent says so: what it was told before has been dealt with then. */
async function dealtWith(version: number, roots: readonly string[], to: AgentLink = link): Promise<void> {
  const before = to.held.length;
  tell(await signed({ version, roots }), to);
  await eventually(() => expect(to.held.slice(before)).toContain(version));
}

describe('the agent, told which roots count', () => {
  it('stores a newer bundle, says that it holds it, and says so again when it is told again', async () => {
    expect(link.hello.trustVersion).toBe(1);
    tell(await signed({ version: 2, roots: both() }));
    await eventually(() => expect(link.held).toEqual([2]));
    expect(stored()).toMatchObject({ trustVersion: 2, rootsPem: both() });
    await dealtWith(2, both());
    expect(link.held).toEqual([2, 2]);
  });

  it('tells its next link what it holds', async () => {
    await dealtWith(7, both());
    link.session.destroy();
    await eventually(() => expect(replica.links[1]?.hello.trustVersion).toBe(7));
  });

  it('takes versions as they rise, whichever are left out, and says nothing of older ones', async () => {
    await dealtWith(5, both());
    tell(await signed({ version: 4, roots: ours() }));
    await dealtWith(5, both());
    expect([link.held, stored().rootsPem]).toEqual([[5, 5], both()]);
  });

  it('takes none that is far ahead, by whoever had a key of its root, and goes on with what comes after', async () => {
    tell(await signed({ version: 1_000_000, roots: both() }));
    tell(await signed({ version: 1_002, roots: both() }));
    await dealtWith(1_001, both());
    expect([link.held, stored().trustVersion]).toEqual([[1_001], 1_001]);
  });

  it('cannot be walked up: what it took today counts, also after a restart, and tomorrow it takes as many more', async () => {
    for (const version of [400, 801, 1_001]) await dealtWith(version, both());
    tell(await signed({ version: 1_002, roots: both() }));
    await dealtWith(1_001, both());
    expect(stored()).toMatchObject({ trustVersion: 1_001, trustSince: { version: 1 } });
    await startAgain((identity) => identity);
    tell(await signed({ version: 1_002, roots: both() }), last());
    await dealtWith(1_001, both(), last());
    expect(stored().trustVersion).toBe(1_001);
    await startAgain(({ trustSince, ...identity }) => ({
      ...identity,
      // And some minutes, by which the clock of the machine may be set meanwhile.
      trustSince: { ...trustSince, atMs: trustSince.atMs - 86_400_000 - 600_000 },
    }));
    await dealtWith(2_001, both(), last());
    tell(await signed({ version: 2_002, roots: both() }), last());
    await dealtWith(2_001, both(), last());
  });

  it('comes back after months, and takes the version of that time, but none above what anybody does', async () => {
    const highest = highestVersion(new Date());
    await startAgain((identity) => ({ ...identity, trustSince: { version: 1, atMs: Date.now() - 90 * 86_400_000 } }));
    tell(await signed({ version: highest + 10, roots: both() }), last());
    await dealtWith(highest, both(), last());
    expect([last().held, stored().trustVersion]).toEqual([[highest], highest]);
  });

  it('of many that come at once says at least the last, and its link stays', async () => {
    const many = await Promise.all(Array.from({ length: 30 }, (_, i) => signed({ version: 2 + i, roots: both() })));
    for (const one of many) tell(one);
    await eventually(() => expect(link.held.at(-1)).toBe(31));
    expect(link.held).toEqual(link.held.toSorted((x, y) => x - y));
    expect([stored().trustVersion, link.session.destroyed]).toEqual([31, false]);
  });

  it.each<[string, () => Promise<TrustEntry>]>([
    [
      'a gateway signed',
      async () => signed({ version: 9, roots: both(), signer: signerOf(await installation.authority.gateway('keys')) }),
    ],
    [
      'another agent signed',
      async () =>
        signed({
          version: 9,
          roots: both(),
          signer: signerOf(await installation.authority.agent(crypto.randomUUID())),
        }),
    ],
    [
      'another service signed',
      async () => signed({ version: 9, roots: both(), signer: signerOf(await installation.authority.service('api')) }),
    ],
    [
      'the keys service of another CA signed',
      async () => signed({ version: 9, roots: theirs.roots, signer: signerOf(await theirs.service('keys')) }),
    ],
    [
      'was changed after it was signed',
      async () => ({ ...(await signed({ version: 9 })), bundle: (await signed({ version: 9, roots: both() })).bundle }),
    ],
    ['has the version it holds and other roots', () => signed({ version: 1, roots: both() })],
    ['is not JSON', async () => ({ ...(await signed({ version: 9 })), bundle: 'AAAA' })],
    [
      'is larger than 32 KiB',
      async () => ({ ...(await signed({ version: 9 })), bundle: Buffer.alloc(32_769, ' ').toString('base64') }),
    ],
    ['nobody signed', async () => ({ ...(await signed({ version: 9, roots: both() })), signerChain: [] })],
    ['is empty', () => Promise.resolve({ version: 9, bundle: '', signerChain: [], signature: '' })],
  ])('refuses one that %s, never says that it holds it, and keeps the link', async (_, make) => {
    tell(await make());
    await dealtWith(1, ours());
    expect([link.held, link.session.destroyed]).toEqual([[1], false]);
    expect(stored()).toMatchObject({ trustVersion: 1, rootsPem: ours() });
  });
});
