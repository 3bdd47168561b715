import 'reflect-metadata';
import { DesiredState, GitOpsSpec, openDesiredState } from '@fairlead/desired-state';
import type { Caller } from '@fairlead/contracts';
import { expect, it } from 'vitest';
import { DesiredStateSigner } from './feature/git/desired-state-signer.js';
import { api, keysOfEach, trustDomain, type KeysProcess } from './testing/keys-fixture.js';

const DAY_MS = 86_400_000;
const caller: Caller = api;
const foreign = crypto.randomUUID();

let keys: KeysProcess;
let signer: DesiredStateSigner;

const fixture = keysOfEach(async () => {
  keys = await fixture.start();
  const belongs = (tenantId: string, clusterId: string): boolean => tenantId === 'default' && clusterId !== foreign;
  signer = new DesiredStateSigner({ database: keys.database, ca: keys.ca, belongs, leafLifeSeconds: 86_400 });
});

const desired = (changes: Partial<DesiredState> = {}): DesiredState =>
  DesiredState.parse({
    version: 1,
    tenantId: 'default',
    clusterId: crypto.randomUUID(),
    revision: 3,
    issuedAt: new Date(fixture.nowMs).toISOString(),
    gitops: null,
    ...changes,
  });

const encoded = (state: unknown): string => Buffer.from(JSON.stringify(state)).toString('base64');

async function open(
  signed: Awaited<ReturnType<DesiredStateSigner['sign']>>,
  clusterId: string,
  rootsPem: readonly string[],
): Promise<DesiredState> {
  const { document, signerChain, signature } = signed;
  return openDesiredState(
    {
      document: Buffer.from(document, 'base64'),
      signerChainPem: signerChain,
      signature: Buffer.from(signature, 'base64'),
    },
    { rootsPem, trustDomain, clusterId, at: new Date(fixture.nowMs) },
  );
}

const roots = async (): Promise<string[]> => (await keys.ca.trustBundle()).roots;

it('signs a desired state so that its cluster believes it, for as long as it says', async () => {
  const state = desired();
  const signed = await signer.sign('default', encoded(state));
  expect(Date.parse(signed.notAfter) - fixture.nowMs).toBe(DAY_MS);
  await expect(open(signed, state.clusterId, await roots())).resolves.toEqual(state);
  await expect(open(signed, crypto.randomUUID(), await roots())).rejects.toThrow('another cluster');
  fixture.nowMs += DAY_MS + 60_000;
  await expect(open(signed, state.clusterId, await roots())).rejects.toMatchObject({ code: 'CERTIFICATE_REFUSED' });
});

it('signs with a key of its own each time', async () => {
  const [one, two] = await Promise.all([1, 2].map(() => signer.sign('default', encoded(desired()))));
  expect(one?.signerChain[0]).not.toBe(two?.signerChain[0]);
  expect(one?.signerChain[1]).toBe(two?.signerChain[1]);
});

it('refuses what is none, is of another tenant, or too large', async () => {
  await expect(signer.sign('other', encoded(desired()))).rejects.toMatchObject({ code: 'FORBIDDEN' });
  for (const wrong of ['', 'bm90IGpzb24=', encoded({}), encoded({ ...desired(), revision: 0 })]) {
    await expect(signer.sign('default', wrong)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  }
  const large = { ...desired(), padding: 'x'.repeat(36_000) };
  await expect(signer.sign('default', encoded(large))).rejects.toThrow('larger');
});

it('adds nothing to what it was given but what the schema says, and drops what it does not know', async () => {
  const state = desired();
  const signed = await signer.sign('default', encoded({ ...state, unknown: 1 }));
  expect(JSON.parse(Buffer.from(signed.document, 'base64').toString())).toEqual(state);
});

it('is believed all through a rotation by installers that know the old root, the new one, or both', async () => {
  const state = desired();
  const old = await roots();
  const rotate = (step: 'prepare' | 'activate' | 'retire') => keys.rotation.rotate(caller, { step, force: true });
  const before = await signer.sign('default', encoded(state));
  await rotate('prepare');
  await expect(open(await signer.sign('default', encoded(state)), state.clusterId, old)).resolves.toEqual(state);
  await rotate('activate');
  const both = await roots();
  const during = await signer.sign('default', encoded(state));
  expect(during.signerChain).toHaveLength(3);
  for (const held of [old, [both[0]!], both]) {
    await expect(open(during, state.clusterId, held)).resolves.toEqual(state);
  }
  await expect(open(before, state.clusterId, both)).resolves.toEqual(state);
  await rotate('retire');
  await expect(open(during, state.clusterId, await roots())).resolves.toEqual(state);
  // Why it is signed again after half of its life, before agents have renewed: see statement-life.ts.
  await expect(open(before, state.clusterId, await roots())).rejects.toMatchObject({ code: 'CERTIFICATE_REFUSED' });
});

it('signs for clusters of the tenant only', async () => {
  await expect(signer.sign('default', encoded(desired({ clusterId: foreign })))).rejects.toMatchObject({
    code: 'FORBIDDEN',
  });
});

it('signs no revision that is older than one it signed for the cluster, in whichever order they come', async () => {
  const state = desired();
  const revisions = [9, 4, 7, 8, 5];
  await Promise.allSettled(revisions.map((revision) => signer.sign('default', encoded({ ...state, revision }))));
  await expect(signer.sign('default', encoded({ ...state, revision: 8 }))).rejects.toMatchObject({ code: 'CONFLICT' });
  await signer.sign('default', encoded({ ...state, revision: 9 }));
  await signer.sign('default', encoded(desired({ revision: 1 })));
});

it('signs a source at a Git host of the tenant only, with keys that are approved there', async () => {
  const id = crypto.randomUUID();
  const [approved, proposed] = ['A', 'B'].map((letter) => letter.repeat(68)) as [string, string];
  await keys.database.query(
    `insert into git_hosts (id, tenant_id, name, kind, ssh_host, ssh_port, create_repositories, revision)
     values ($1, 'default', 'forge', 'manual', 'git.example.com', 2222, false, 1)`,
    [id],
  );
  await keys.database.query(
    `insert into git_host_keys (host_id, fingerprint, type, public_key, state, first_seen_at)
     values ($1, 'a', 'ssh-ed25519', $2, 'approved', now()), ($1, 'b', 'ssh-ed25519', $3, 'proposed', now())`,
    [id, `ssh-ed25519 ${approved}`, `ssh-ed25519 ${proposed}`],
  );
  const at = (host: string, key: string) => encoded(desired({ gitops: follows(host, key) }));
  await signer.sign('default', at('git.example.com', approved));
  await expect(signer.sign('default', at('git.example.com', proposed))).rejects.toMatchObject({ code: 'FORBIDDEN' });
  await expect(signer.sign('default', at('evil.example.com', approved))).rejects.toMatchObject({ code: 'FORBIDDEN' });
});

function follows(host: string, key: string): DesiredState['gitops'] {
  return GitOpsSpec.parse({
    tool: 'flux',
    bundle: { digest: 'a'.repeat(64), version: 'v2.7.3', bytes: 10, compressedBytes: 10 },
    images: {},
    source: {
      url: `ssh://git@${host}:2222/org/catalog.git`,
      branch: 'main',
      path: '.',
      knownHosts: [{ host: `[${host}]:2222`, type: 'ssh-ed25519', key }],
    },
    deployKey: { current: 1, currentReady: true },
  });
}
