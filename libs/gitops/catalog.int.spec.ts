import 'reflect-metadata';
import { createHash, randomBytes } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { DEFAULT_TENANT, gitopsRpc } from '@fairlead/contracts';
import type { ObjectEvent } from '@fairlead/desired-state';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { actor, gitopsFixture, type GitopsFixture } from './testing/gitops-fixture.js';
import { ScriptedInstaller } from './testing/installer.js';
import { fluxManifest } from './testing/manifests.js';

let gitops: GitopsFixture;
let replicas: AsyncDisposable[];
let clusterId: string;

beforeAll(async () => {
  gitops = await gitopsFixture();
  // Whichever of them is asked.
  replicas = [await gitops.start(), await gitops.start()];
  clusterId = await gitops.addCluster('demo');
  await eventually(() => gitops.asApi.call(gitopsRpc.clusterStatus, DEFAULT_TENANT, { name: 'demo' }), {
    timeoutMs: 30_000,
  });
});
afterAll(async () => {
  for (const replica of replicas ?? []) await replica[Symbol.asyncDispose]();
  await gitops?.[Symbol.asyncDispose]();
});

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
/** A manifest that does not get much smaller. */
const large = (): Buffer => Buffer.from(`# ${randomBytes(150_000).toString('base64')}\n---\n${fluxManifest()}`);

async function begin(yaml: Buffer, version: string, digest = sha256(yaml)): Promise<string> {
  const request = { tool: 'flux' as const, version, bytes: yaml.length, digest, origin: 'install.yaml', actor };
  return (await gitops.asApi.call(gitopsRpc.beginBundle, DEFAULT_TENANT, request)).uploadId;
}
const send = (uploadId: string, offset: number, piece: Buffer): Promise<unknown> =>
  gitops.asApi.call(gitopsRpc.bundlePiece, DEFAULT_TENANT, { uploadId, offset, piece: piece.toString('base64') });
const finish = (uploadId: string): Promise<unknown> =>
  gitops.asApi.call(gitopsRpc.finishBundle, DEFAULT_TENANT, { uploadId });
const remove = (version: string): Promise<unknown> =>
  gitops.asApi.call(gitopsRpc.removeBundle, DEFAULT_TENANT, { tool: 'flux', version, actor });
const code = (expected: string): object => expect.objectContaining({ code: expected }) as object;

describe('an upload', () => {
  it('arrives in pieces in their order, which may be repeated', async () => {
    const yaml = Buffer.from(fluxManifest('pieces'));
    const uploadId = await begin(yaml, 'pieces');
    const half = Math.floor(yaml.length / 2);
    await send(uploadId, 0, yaml.subarray(0, half));
    await send(uploadId, 0, yaml.subarray(0, half));
    await expect(send(uploadId, 0, Buffer.from('other'))).rejects.toEqual(code('CONFLICT'));
    await expect(send(uploadId, half + 1, yaml.subarray(half + 1))).rejects.toEqual(code('CONFLICT'));
    await expect(send(uploadId, half, Buffer.alloc(yaml.length))).rejects.toEqual(code('INVALID_ARGUMENT'));
    await expect(finish(uploadId)).rejects.toEqual(code('CONFLICT'));
    await send(uploadId, half, yaml.subarray(half));
    expect(await finish(uploadId)).toMatchObject({
      version: 'pieces',
      digest: sha256(yaml),
      objects: 4,
      importedBy: actor,
    });
    await expect(finish(uploadId)).rejects.toEqual(code('NOT_FOUND'));
    await remove('pieces');
  });

  it('is refused with another digest or contents, and may be the same again, but not another one of the same version', async () => {
    const yaml = Buffer.from(fluxManifest('v1'));
    const wrong = await begin(yaml, 'v1', sha256(Buffer.from('other')));
    await send(wrong, 0, yaml);
    await expect(finish(wrong)).rejects.toEqual(code('INVALID_ARGUMENT'));
    await expect(gitops.uploadBundle('v1', 'just text')).rejects.toEqual(code('INVALID_ARGUMENT'));
    const first = await gitops.uploadBundle('v1');
    expect(await gitops.uploadBundle('v1')).toEqual(first);
    await expect(gitops.uploadBundle('v1', fluxManifest('other'))).rejects.toEqual(code('ALREADY_EXISTS'));
    const { bundles } = await gitops.asApi.call(gitopsRpc.listBundles, DEFAULT_TENANT, {});
    expect(bundles).toEqual([first]);
  });

  it('is finished later where others of the tenant are being read', async () => {
    const yaml = Buffer.from(fluxManifest('alike'));
    const ids = await Promise.all(Array.from({ length: 4 }, () => begin(yaml, 'alike')));
    await Promise.all(ids.map((id) => send(id, 0, yaml)));
    for (const bundle of await Promise.all(ids.map(finish))) {
      expect(bundle).toMatchObject({ version: 'alike', digest: sha256(yaml) });
    }
    await remove('alike');
  });

  it('makes room when it is cancelled, by its own tenant alone', async () => {
    const yaml = Buffer.from(fluxManifest('cancelled'));
    const ids = await Promise.all(Array.from({ length: 4 }, () => begin(yaml, 'cancelled')));
    const cancel = (tenantId: string, uploadId: string): Promise<unknown> =>
      gitops.asApi.call(gitopsRpc.cancelBundle, tenantId, { uploadId });
    await send(ids[0]!, 0, yaml);
    await cancel('other', ids[0]!);
    await expect(begin(yaml, 'cancelled')).rejects.toEqual(code('RATE_LIMITED'));
    for (const id of [...ids, ids[0]!]) await cancel(DEFAULT_TENANT, id);
    await expect(finish(ids[0]!)).rejects.toEqual(code('NOT_FOUND'));
    for (const table of ['bundle_uploads', 'bundle_pieces']) {
      expect(await gitops.database.query(`select count(*)::int from ${table}`)).toEqual([{ count: 0 }]);
    }
  });

  it('is one of a few, and expires', async () => {
    const yaml = Buffer.from(fluxManifest('many'));
    const ids = await Promise.all(Array.from({ length: 4 }, () => begin(yaml, 'many')));
    await expect(begin(yaml, 'many')).rejects.toEqual(code('RATE_LIMITED'));
    await gitops.database.query('update bundle_uploads set expires_at = now()');
    await expect(send(ids[0]!, 0, yaml)).rejects.toEqual(code('NOT_FOUND'));
    await begin(yaml, 'many');
    expect(await gitops.database.query('select count(*)::int from bundle_uploads')).toEqual([{ count: 1 }]);
  });
});

describe('a bundle', () => {
  it('goes in pieces to the clusters that are to have it, and to no others', async () => {
    const yaml = large();
    const upload = await begin(yaml, 'large');
    for (let offset = 0; offset < yaml.length; offset += 100_000) {
      await send(upload, offset, yaml.subarray(offset, offset + 100_000));
    }
    await finish(upload);
    const digest = sha256(yaml);
    const chunk = (offset: number) =>
      gitops.asGateway.call(gitopsRpc.bundleChunk, DEFAULT_TENANT, { clusterId, digest, offset });
    await expect(chunk(0)).rejects.toEqual(code('NOT_FOUND'));
    await gitops.assign({ name: 'demo', selector: { cluster: 'demo' }, bundleVersion: 'large' });
    const first = await eventually(() => chunk(0), { timeoutMs: 30_000 });
    const pieces = [Buffer.from(first.piece, 'base64')];
    let length = pieces[0]!.length;
    while (length < first.compressedBytes) {
      pieces.push(Buffer.from((await chunk(length)).piece, 'base64'));
      length += pieces.at(-1)!.length;
    }
    expect(pieces.length).toBeGreaterThan(1);
    expect(gunzipSync(Buffer.concat(pieces)).equals(yaml)).toBe(true);
    await expect(chunk(length)).rejects.toEqual(code('INVALID_ARGUMENT'));
    await expect(remove('large')).rejects.toEqual(code('CONFLICT'));
  });

  it('has to be small enough for a cluster', async () => {
    const yaml = Buffer.from(`# ${randomBytes(800_000).toString('base64')}\n---\n${fluxManifest()}`);
    const upload = await begin(yaml, 'huge');
    for (let offset = 0; offset < yaml.length; offset += 150_000) {
      await send(upload, offset, yaml.subarray(offset, offset + 150_000));
    }
    await expect(finish(upload)).rejects.toEqual(code('TOO_LARGE'));
  });

  it('is not fetched from where only this machine gets', async () => {
    const fetched = (url: string): Promise<unknown> =>
      gitops.asApi.call(gitopsRpc.importBundleUrl, DEFAULT_TENANT, {
        tool: 'flux',
        version: 'x',
        url,
        digest: 'a'.repeat(64),
        actor,
      });
    for (const url of ['https://127.0.0.1/x', 'https://[::1]/x', 'https://localhost/x', 'https://user:pw@1.1.1.1/']) {
      await expect(fetched(url)).rejects.toEqual(code('INVALID_ARGUMENT'));
    }
  });
});

describe('a repository', () => {
  const add = (name: string, path: string, gitHost = 'gitea'): Promise<unknown> =>
    gitops.asApi.call(gitopsRpc.addRepository, DEFAULT_TENANT, { name, gitHost, path, actor });
  const drop = (name: string): Promise<unknown> =>
    gitops.asApi.call(gitopsRpc.removeRepository, DEFAULT_TENANT, { name, actor });

  it('is known to its Git host, has one name, and stays while it is needed', async () => {
    await expect(add('catalog', 'platform/catalog', 'nowhere')).rejects.toEqual(code('NOT_FOUND'));
    const added = await add('catalog', 'platform/catalog');
    expect(added).toMatchObject({ name: 'catalog', gitHost: 'gitea', defaultBranch: 'main' });
    expect(await add('catalog', 'platform/catalog')).toEqual(added);
    gitops.keys.defaultBranch = 'trunk';
    expect(await add('catalog', 'platform/catalog')).toMatchObject({ defaultBranch: 'trunk' });
    await expect(add('catalog', 'platform/other')).rejects.toEqual(code('ALREADY_EXISTS'));
    const followed = { name: 'demo', selector: { cluster: 'demo' }, repository: 'catalog' };
    await gitops.keys.approve();
    const elsewhere = { ...followed, gitThrough: 'git.example.org:22' };
    await eventually(() => expect(gitops.assign(elsewhere)).rejects.toEqual(code('INVALID_ARGUMENT')));
    await gitops.assign(followed);
    await expect(drop('catalog')).rejects.toEqual(code('CONFLICT'));
    await gitops.asApi.call(gitopsRpc.removeAssignment, DEFAULT_TENANT, { name: 'demo', actor });
    await eventually(() => drop('catalog'), { timeoutMs: 30_000 });
    await expect(drop('catalog')).rejects.toEqual(code('NOT_FOUND'));
    const { repositories } = await gitops.asApi.call(gitopsRpc.listRepositories, DEFAULT_TENANT, {});
    expect(repositories).toEqual([]);
  });
});

describe('an assignment', () => {
  it.each([
    [{ bundleVersion: 'unknown' }, 'NOT_FOUND'],
    [{ repository: 'unknown' }, 'NOT_FOUND'],
    [{ selector: { cluster: 'unknown' } }, 'NOT_FOUND'],
    [{ path: '../x' }, 'INVALID_ARGUMENT'],
    [{ path: `${'x'.repeat(240)}/{cluster}` }, 'INVALID_ARGUMENT'],
    [{ selector: { labels: {} } }, 'INVALID_ARGUMENT'],
    [
      { verification: { type: 'ssh' as const, keys: [{ name: 'a', publicKey: 'ssh-ed25519 AAAA' }] } },
      'INVALID_ARGUMENT',
    ],
  ])('is refused with %j', async (wrong, expected) => {
    const assigned = gitops.assign({ name: 'wrong', selector: { cluster: 'demo' }, ...wrong });
    await expect(assigned).rejects.toEqual(code(expected));
  });

  it('fits into a desired state', async () => {
    const keys = Array.from({ length: 4 }, (_, index) => ({ name: `key-${index}`, publicKey: 'x'.repeat(8_000) }));
    const verification = { type: 'gpg' as const, keys };
    const assigned = gitops.assign({ name: 'wrong', selector: { cluster: 'demo' }, verification });
    await expect(assigned).rejects.toEqual(code('TOO_LARGE'));
  });
});

describe('a change of an assignment', () => {
  const spec = { name: 'seen', selector: { labels: { nobody: 'has' } }, tool: 'flux', bundleVersion: 'seen' } as const;
  const put = (priority: number, ifRevision?: string | null): Promise<{ revision: string }> => {
    const change = { ...spec, repository: null, priority, actor, ifRevision };
    return gitops.asApi.call(gitopsRpc.putAssignment, DEFAULT_TENANT, change);
  };
  const unassign = (ifRevision?: string): Promise<unknown> =>
    gitops.asApi.call(gitopsRpc.removeAssignment, DEFAULT_TENANT, { name: 'seen', actor, ifRevision });
  const held = async (): Promise<unknown> => {
    const { assignments } = await gitops.asApi.call(gitopsRpc.listAssignments, DEFAULT_TENANT, {});
    return assignments.find(({ name }) => name === 'seen')?.priority;
  };
  beforeAll(async () => {
    await gitops.uploadBundle('seen');
  });

  it('of two administrators who have seen the same, counts once', async () => {
    const { revision } = await put(0, null);
    await expect(put(1, null)).rejects.toEqual(code('REVISION_CONFLICT'));
    const both = await Promise.allSettled([put(1, revision), put(2, revision)]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const lost = both.find((each) => each.status === 'rejected');
    expect(lost?.reason).toEqual(code('REVISION_CONFLICT'));
    const kept = both.find((each) => each.status === 'fulfilled')?.value;
    expect(await held()).toBe(both[0]?.status === 'fulfilled' ? 1 : 2);
    expect(kept?.revision).not.toBe(revision);
  });

  it('may be sent again, and counts without a word about what was seen', async () => {
    const { revision } = await put(3);
    expect(await put(4, revision)).toEqual(await put(4, revision));
    await expect(unassign(revision)).rejects.toEqual(code('REVISION_CONFLICT'));
    await put(5);
    expect(await held()).toBe(5);
    await unassign();
    await expect(put(6, revision)).rejects.toEqual(code('REVISION_CONFLICT'));
  });
});

describe('what an installer reports', () => {
  const told = (sequence: number): ObjectEvent => ({
    sequence,
    at: new Date().toISOString(),
    step: 'applied',
    object: `Deployment flux-system/x-${sequence}`,
    message: '',
  });
  const events = async (): Promise<number[]> => {
    const { events: all } = await gitops.asApi.call(gitopsRpc.clusterEvents, DEFAULT_TENANT, { name: 'demo' });
    return all.map(({ sequence }) => sequence);
  };

  it('has the hosts that the cluster needs and does not reach', async () => {
    const installer = new ScriptedInstaller(gitops, clusterId);
    const preflight = {
      at: new Date().toISOString(),
      hosts: [{ kind: 'registry' as const, host: 'ghcr.io', code: 'UNREACHABLE', message: 'no connection' }],
    };
    installer.says = { preflight };
    await installer.report();
    const shown = await gitops.asApi.call(gitopsRpc.clusterStatus, DEFAULT_TENANT, { name: 'demo' });
    expect(shown.report?.preflight).toEqual(preflight);
    installer.says = {};
    await installer.report();
    expect((await gitops.asApi.call(gitopsRpc.clusterStatus, DEFAULT_TENANT, { name: 'demo' })).report?.preflight).toBe(
      undefined,
    );
  });

  it('is told once, and the newest of it is kept', async () => {
    const installer = new ScriptedInstaller(gitops, clusterId);
    installer.says = { events: [told(1), told(2)] };
    await installer.report();
    installer.says = { events: [told(1), told(2), told(3)] };
    await installer.report();
    expect(await events()).toEqual([3, 2, 1]);
    for (let first = 4; first < 300; first += 40) {
      installer.says = { events: Array.from({ length: 40 }, (_, index) => told(first + index)) };
      await installer.report();
    }
    const kept = await events();
    expect(kept).toHaveLength(200);
    expect(kept[0]).toBe(323);
    const again = new ScriptedInstaller(gitops, clusterId);
    again.says = { events: [told(1)] };
    await again.report();
    expect((await events())[0]).toBe(1);
  });

  it('is of its own cluster, and of one that is there', async () => {
    const installer = new ScriptedInstaller(gitops, clusterId);
    installer.says = { clusterId: crypto.randomUUID() };
    await expect(installer.report()).rejects.toEqual(code('INVALID_ARGUMENT'));
    await expect(new ScriptedInstaller(gitops, crypto.randomUUID()).report()).rejects.toEqual(code('NOT_FOUND'));
  });
});
