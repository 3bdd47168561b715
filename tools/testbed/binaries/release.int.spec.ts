import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { create } from 'tar';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../fixtures/temporary.js';
import { tinyComponent } from '../fixtures/tiny-component.js';
import { PROVIDERS } from '../settings.js';
import type { Release } from './catalog.js';
import { platform } from './platform.js';
import { DEFAULT_LIMITS } from './fetch.js';
import type { Context } from './provider.js';
import { releaseProvider } from './release.js';

const SCRIPT = '#!/bin/sh\necho "etcd Version: 1.2.3"\n';
const provider = releaseProvider({ ...DEFAULT_LIMITS, maxBytes: 100_000, allowHttpLoopback: true });
const sumOf = (content: Buffer | string) => createHash('sha256').update(content).digest('hex');

let files: Map<string, Buffer>;
let asked: string[];
let base: string;
let server: ReturnType<typeof createServer>;
let dir: Awaited<ReturnType<typeof temporaryDirectory>>;

beforeEach(async () => {
  dir = await temporaryDirectory();
  files = new Map();
  asked = [];
  server = createServer((request, response) => {
    asked.push(request.url!);
    const content = files.get(request.url!);
    if (content) response.end(content);
    else response.writeHead(404).end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
  await dir[Symbol.asyncDispose]();
});

const component = (release: Partial<Release> = {}) =>
  tinyComponent({
    release: {
      url: `${base}/etcd-v{version}.tar.gz`,
      sumsUrl: `${base}/SHA256SUMS`,
      pinned: {},
      member: 'etcd-v{version}/etcd',
      platforms: [platform().key],
      ...release,
    },
  });

const context = (): Context => ({
  settings: { providers: PROVIDERS, chosen: false, cacheDir: join(dir.path, 'cache') },
  env: process.env,
  log: () => {},
});

/** A .tar.gz as a release has it, served with its sum. */
async function publish(): Promise<Buffer> {
  const root = join(dir.path, 'etcd-v1.2.3');
  await mkdir(root);
  await writeFile(join(root, 'etcd'), SCRIPT, { mode: 0o755 });
  await writeFile(join(root, 'README'), 'not the binary');
  const file = join(dir.path, 'release.tar.gz');
  await create({ gzip: true, cwd: dir.path, file }, ['etcd-v1.2.3']);
  const archive = await readFile(file);
  files.set('/etcd-v1.2.3.tar.gz', archive);
  files.set('/SHA256SUMS', Buffer.from(`${sumOf('other')}  other.tar.gz\n${sumOf(archive)}  etcd-v1.2.3.tar.gz\n`));
  return archive;
}

describe('a release', () => {
  it('is downloaded, verified, unpacked and kept', async () => {
    await publish();
    const binary = await provider.obtain(component(), context());
    expect(binary).toMatchObject({ version: '1.2.3', provider: 'download' });
    expect(await readFile(binary.path, 'utf8')).toBe(SCRIPT);
    expect(asked).toEqual(['/SHA256SUMS', '/etcd-v1.2.3.tar.gz']);
    // From here on without the network.
    expect(await provider.probe(component(), context())).toEqual({ state: 'ready', binary });
  });

  it('may be a bare binary with a sum of its own', async () => {
    files.set('/etcd', Buffer.from(SCRIPT));
    files.set('/etcd.sha256', Buffer.from(sumOf(SCRIPT)));
    const { url, sumsUrl } = { url: `${base}/etcd`, sumsUrl: `${base}/etcd.sha256` };
    const { member: _none, ...release } = component({ url, sumsUrl }).release!;
    const binary = await provider.obtain(tinyComponent({ release }), context());
    expect(binary.version).toBe('1.2.3');
  });

  it('is not used when its sum is wrong', async () => {
    const archive = await publish();
    files.set('/etcd-v1.2.3.tar.gz', Buffer.concat([archive, Buffer.from([0])]));
    await expect(provider.obtain(component(), context())).rejects.toThrow('nothing of it is used');
    expect((await provider.probe(component(), context())).state).toBe('possible');
  });

  it('is not used when it is truncated', async () => {
    const archive = await publish();
    files.set('/etcd-v1.2.3.tar.gz', archive.subarray(0, archive.length / 2));
    await expect(provider.obtain(component(), context())).rejects.toThrow('nothing of it is used');
    expect((await provider.probe(component(), context())).state).toBe('possible');
  });

  it('must have the pinned sum, whatever the checksum file says', async () => {
    const archive = await publish();
    const pinnedTo = (sum: string) => component({ pinned: { [platform().key]: sum } });
    await expect(provider.obtain(pinnedTo(sumOf('another')), context())).rejects.toThrow(`not ${sumOf('another')}`);
    expect(asked).not.toContain('/SHA256SUMS');
    await expect(provider.obtain(pinnedTo(sumOf(archive)), context())).resolves.toMatchObject({ version: '1.2.3' });
    // A cached entry with another sum than the pinned one does not count.
    expect((await provider.probe(pinnedTo(sumOf('another')), context())).state).toBe('possible');
  });

  it('that is damaged inside is not used even when its sum is right', async () => {
    const archive = await publish();
    const half = archive.subarray(0, archive.length / 2);
    files.set('/etcd-v1.2.3.tar.gz', half);
    const release = component({ pinned: { [platform().key]: sumOf(half) } });
    await expect(provider.obtain(release, context())).rejects.toThrow(
      'cannot take etcd-v1.2.3/etcd out of the archive',
    );
  });

  it('that is too big is not read to its end', async () => {
    await publish();
    files.set('/etcd-v1.2.3.tar.gz', Buffer.alloc(200_000));
    await expect(provider.obtain(component(), context())).rejects.toThrow('longer than 100000 bytes');
  });

  it('must be the version that was asked for', async () => {
    await publish();
    const other = { ...component({ url: `${base}/etcd-v1.2.3.tar.gz`, member: 'etcd-v1.2.3/etcd' }), version: '1.2.4' };
    await expect(provider.obtain(other, context())).rejects.toThrow('says it is 1.2.3');
  });

  it('is not looked for where there is none for this platform', async () => {
    const probe = await provider.probe(component({ platforms: [] }), context());
    expect(probe).toEqual({ state: 'no', why: `there is no release for ${platform().key}` });
  });
});
