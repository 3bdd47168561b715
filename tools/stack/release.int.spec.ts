// What a release is made of, of an image as `docker save` writes it. Building the images themselves is docker.int.spec.ts's and the real node's.
import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { ROLES } from '@fairlead/contracts';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { baseEnvironment } from './process/base-environment.js';
import { runCommand, type CommandOutput } from './process/run-command.js';
import { REPOSITORY } from './state/repository.js';

const NAME = 'registry.example.test/fairlead';
const SBOM = JSON.stringify({ bomFormat: 'CycloneDX', components: [] });
const env = baseEnvironment();

let scratch: ScratchDir;
let key: string;
let publicKey: string;

beforeAll(async () => {
  scratch = await scratchDir();
  [key, publicKey] = [scratch.file('key.pem'), scratch.file('key.pub')];
  await run('openssl', 'ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', key);
  await run('openssl', 'ec', '-in', key, '-pubout', '-out', publicKey);
  await saveImage('good', {});
});
afterAll(() => scratch?.[Symbol.asyncDispose]());

async function run(program: string, ...args: readonly string[]): Promise<CommandOutput> {
  return runCommand(program, args, { env, timeoutMs: 60_000 });
}

const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');

interface Change {
  readonly labels?: Readonly<Record<string, string>>;
  readonly diffId?: string;
}

/** `agent.tar` in a folder of this name: one layer with the agent's SBOM, in the format of Docker's older engines. */
async function saveImage(name: string, { labels, diffId }: Change): Promise<void> {
  const [folder, image] = [scratch.file(name), scratch.file(`${name}-image`)];
  const sbom = join(image, 'root/app/apps/agent/dist/bundle/sbom.cdx.json');
  await mkdir(dirname(sbom), { recursive: true });
  await mkdir(join(image, 'layer'));
  await mkdir(folder);
  await writeFile(sbom, SBOM);
  await run('tar', '-cf', join(image, 'layer/layer.tar'), '-C', join(image, 'root'), 'app');
  const plain = `sha256:${sha256(await readFile(join(image, 'layer/layer.tar')))}`;
  const Labels = labels ?? {
    'org.opencontainers.image.title': 'fairlead-agent',
    'org.opencontainers.image.version': '1.2.3',
  };
  const config = { architecture: 'amd64', os: 'linux', config: { Labels }, rootfs: { diff_ids: [diffId ?? plain] } };
  await writeFile(join(image, 'config.json'), JSON.stringify(config));
  const manifest = [{ Config: 'config.json', RepoTags: ['x:1'], Layers: ['layer/layer.tar'] }];
  await writeFile(join(image, 'manifest.json'), JSON.stringify(manifest));
  await run('tar', '-cf', join(folder, 'agent.tar'), '-C', image, 'config.json', 'manifest.json', 'layer');
}

function release(saved: string, out: string): Promise<CommandOutput> {
  const script = join(REPOSITORY, 'tools/image/release.mjs');
  const what = ['--name', NAME, '--version', '1.2.3', '--image', 'agent', '--saved', scratch.file(saved)];
  return run(process.execPath, script, ...what, '--out', scratch.file(out), '--sign-with', key);
}

/** By openssl, as anybody can. */
async function verifies(file: string, signature: string): Promise<boolean> {
  const der = `${signature}.der`;
  await writeFile(der, Buffer.from(await readFile(signature, 'utf8'), 'base64'));
  const { code } = await run('openssl', 'dgst', '-sha256', '-verify', publicKey, '-signature', der, file);
  return code === 0;
}

it('writes the very image that is to be pushed, its digest, what is in it, and signatures that hold', async () => {
  const out = (file: string): string => scratch.file(join('release', file));
  expect(await release('good', 'release')).toMatchObject({ code: 0, stderr: '' });
  const index = JSON.parse(await readFile(out('agent/index.json'), 'utf8')) as { manifests: [{ digest: string }] };
  const { digest } = index.manifests[0];
  const blob = (of: string): Promise<Buffer> => readFile(out(`agent/blobs/${of.replace(':', '/')}`));
  for (const name of await readdir(out('agent/blobs/sha256'))) expect(sha256(await blob(`sha256:${name}`))).toBe(name);
  const manifest = JSON.parse((await blob(digest)).toString()) as { layers: [{ digest: string }] };
  const layer = gunzipSync(await blob(manifest.layers[0].digest));
  expect(layer.toString('latin1')).toContain(SBOM);
  expect(await readFile(out('agent.cdx.json'), 'utf8')).toBe(SBOM);
  expect(parse(await readFile(out('images.yaml'), 'utf8'))).toEqual({ images: { agent: `${NAME}/agent@${digest}` } });
  expect(JSON.parse(await readFile(out('agent.payload.json'), 'utf8'))).toEqual({
    critical: {
      identity: { 'docker-reference': `${NAME}/agent` },
      image: { 'docker-manifest-digest': digest },
      type: 'cosign container image signature',
    },
    optional: null,
  });
  expect(await verifies(out('agent.payload.json'), out('agent.sig'))).toBe(true);
  expect(await verifies(out('SHA256SUMS'), out('SHA256SUMS.sig'))).toBe(true);
  const sums = await runCommand('sha256sum', ['--check', 'SHA256SUMS'], { env, cwd: scratch.file('release') });
  expect(sums).toMatchObject({ code: 0 });
  await writeFile(out('agent.payload.json'), 'another');
  expect(await verifies(out('agent.payload.json'), out('agent.sig'))).toBe(false);
});

it('makes the same bytes of the same image', async () => {
  await cp(scratch.file('good'), scratch.file('again'), { recursive: true });
  const digests = [await release('good', 'first'), await release('again', 'second')].map(({ stdout }) => stdout);
  expect(digests[0]).toContain('sha256:');
  expect(digests[1]).toBe(digests[0]);
});

it.each<[string, Change, RegExp]>([
  ['of another version', { labels: { 'org.opencontainers.image.title': 'fairlead-agent' } }, /labelled fairlead-agent/],
  [
    'of another process',
    { labels: { 'org.opencontainers.image.title': 'fairlead-keys' } },
    /not fairlead-agent 1\.2\.3/,
  ],
  ['whose layer was exchanged', { diffId: `sha256:${'0'.repeat(64)}` }, /a layer is not sha256:0/],
])('refuses an image %s, and signs nothing', async (what, change, message) => {
  const name = what.replaceAll(' ', '-');
  await saveImage(name, change);
  const { code, stderr } = await release(name, `${name}-out`);
  expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  expect((await readdir(scratch.file(`${name}-out`))).filter((file) => file.endsWith('.sig'))).toEqual([]);
});

it('never writes over a release', async () => {
  await mkdir(scratch.file('there'));
  expect(await release('good', 'there')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('is there already') as string,
  });
});

it('has an image for each process of the table, and for what runs in clusters and makes Secrets', async () => {
  const script = join(REPOSITORY, 'tools/image/release.mjs');
  const what = ['--name', NAME, '--version', '1.2.3', '--image', 'unheard-of', '--out', scratch.file('unheard-of')];
  const { code, stderr } = await run(process.execPath, script, ...what, '--sign-with', key, '--saved', '.');
  const all = [...ROLES, 'agent', 'installer', 'setup'].toSorted().join(', ');
  expect([code, stderr]).toEqual([2, expect.stringContaining(`there is no image unheard-of; there are ${all}`)]);
});

it('builds nothing upon a base that only a tag names', async () => {
  const script = join(REPOSITORY, 'tools/image/release.mjs');
  const what = ['--name', NAME, '--version', '1.2.3', '--image', 'agent', '--out', scratch.file('upon-a-tag')];
  for (const base of [[], ['--node-image', 'node:24-bookworm-slim']]) {
    const { code, stderr } = await run(process.execPath, script, ...what, '--sign-with', key, ...base);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--node-image NAME@sha256:')]);
  }
});

it('builds nothing of files that are in no commit', async () => {
  const copy = scratch.file('copy');
  await cp(join(REPOSITORY, 'tools/image'), join(copy, 'tools/image'), { recursive: true });
  await run('git', 'init', '--quiet', copy);
  const what = ['--name', NAME, '--version', '1.2.3', '--image', 'agent', '--out', scratch.file('unclean')];
  const { code, stderr } = await run(
    process.execPath,
    join(copy, 'tools/image/release.mjs'),
    ...what,
    '--sign-with',
    key,
    '--node-image',
    `node@sha256:${'0'.repeat(64)}`,
  );
  expect([code, stderr]).toEqual([2, expect.stringMatching(/what would be built is no commit \(\?\? tools\/\)/)]);
});
