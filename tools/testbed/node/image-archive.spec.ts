import { createHash } from 'node:crypto';
import { mkdir, readFile, readlink, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { extract } from 'tar';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../fixtures/temporary.js';
import { qualified, writeImage } from './image-archive.js';

const json = async (path: string): Promise<unknown> => JSON.parse(await readFile(path, 'utf8')) as unknown;

it('an image is an archive of one layer, whose sums are right', async () => {
  await using dir = await temporaryDirectory();
  const program = join(dir.path, 'program');
  await writeFile(program, '#!/bin/sh\n', { mode: 0o700 });
  const archive = join(dir.path, 'image.tar');
  await writeImage(archive, {
    name: 'greeter:2',
    files: { 'usr/bin/greet': program },
    texts: { 'etc/passwd': 'root:x:0:0:::\n' },
    links: { 'bin/hello': '../usr/bin/greet' },
    entrypoint: ['/usr/bin/greet'],
    command: ['everybody'],
    user: '1000:1000',
    env: { GREETING: 'hi' },
  });
  const [image, root] = [join(dir.path, 'image'), join(dir.path, 'root')];
  await mkdir(image);
  await mkdir(root);
  await extract({ file: archive, cwd: image });
  const [{ Config, RepoTags, Layers }] = (await json(join(image, 'manifest.json'))) as [
    { Config: string; RepoTags: string[]; Layers: [string] },
  ];
  expect(RepoTags).toEqual(['docker.io/library/greeter:2']);
  const config = await readFile(join(image, Config), 'utf8');
  expect(Config).toBe(`${createHash('sha256').update(config).digest('hex')}.json`);
  const layer = await readFile(join(image, Layers[0]));
  expect(JSON.parse(config)).toMatchObject({
    os: process.platform,
    config: {
      Entrypoint: ['/usr/bin/greet'],
      Cmd: ['everybody'],
      User: '1000:1000',
      Env: expect.arrayContaining(['GREETING=hi']),
    },
    rootfs: { type: 'layers', diff_ids: [`sha256:${createHash('sha256').update(layer).digest('hex')}`] },
  });
  await extract({ file: join(image, Layers[0]), cwd: root });
  expect((await stat(join(root, 'usr/bin/greet'))).mode & 0o777).toBe(0o755);
  expect(await readlink(join(root, 'bin/hello'))).toBe('../usr/bin/greet');
  expect(await readFile(join(root, 'etc/passwd'), 'utf8')).toBe('root:x:0:0:::\n');
});

it.each([
  ['shell:1', 'docker.io/library/shell:1'],
  ['fairlead/pause:1', 'docker.io/fairlead/pause:1'],
  ['shell', 'docker.io/library/shell:latest'],
  ['localhost/fairlead/api:1', 'localhost/fairlead/api:1'],
  ['registry.k8s.io/pause:3.10.1', 'registry.k8s.io/pause:3.10.1'],
])('%s is known as %s', (name, full) => {
  expect(qualified(name)).toBe(full);
});
