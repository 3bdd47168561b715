import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { create } from 'tar';
import { platform } from '../binaries/catalog.js';

export interface ImageSpec {
  /** As pods name it. */
  readonly name: string;
  /** Files of this machine, by where they are in the image. */
  readonly files: Readonly<Record<string, string>>;
  /** Text files, by where they are in the image. */
  readonly texts?: Readonly<Record<string, string>>;
  /** By where they are in the image, what they point to. */
  readonly links?: Readonly<Record<string, string>>;
  readonly entrypoint: readonly string[];
  /** What the entrypoint is given unless a pod says otherwise. */
  readonly command?: readonly string[];
  readonly user?: string;
  /** Where what the entrypoint names begins. Default `/`. */
  readonly workingDir?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Writes an image of one layer to `path`, in the form that `docker save` has and `ctr images import` takes: no engine builds it, and
 * nothing is fetched.
 */
export async function writeImage(path: string, image: ImageSpec): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'fairlead-image-'));
  try {
    const root = join(work, 'root');
    await layOut(root, image);
    const layer = join(work, 'layer.tar');
    await create({ file: layer, cwd: root, portable: true, mtime: new Date(0) }, ['.']);
    const config = JSON.stringify(configOf(image, await sha256Of(layer)));
    const configName = `${createHash('sha256').update(config).digest('hex')}.json`;
    await writeFile(join(work, configName), config);
    const manifest = [{ Config: configName, RepoTags: [qualified(image.name)], Layers: ['layer.tar'] }];
    await writeFile(join(work, 'manifest.json'), JSON.stringify(manifest));
    const archive = create({ cwd: work, portable: true }, ['manifest.json', configName, 'layer.tar']);
    await pipeline(archive, createWriteStream(`${path}.new`));
    await rename(`${path}.new`, path);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** What the container runtime knows it by: a name whose first part is no host, nor `localhost`, is one of Docker's registry. */
export function qualified(name: string): string {
  const [repository, tag = 'latest'] = name.split(':') as [string, string?];
  if (/^(localhost|[^/]*\.[^/]*)\//u.test(repository)) return `${repository}:${tag}`;
  return `docker.io/${repository.includes('/') ? '' : 'library/'}${repository}:${tag}`;
}

async function layOut(root: string, { files, texts = {}, links = {} }: ImageSpec): Promise<void> {
  // Every program expects a place for what it does not keep.
  await mkdir(join(root, 'tmp'), { recursive: true });
  await chmod(join(root, 'tmp'), 0o1777);
  for (const [at, from] of Object.entries(files)) {
    await mkdir(dirname(join(root, at)), { recursive: true });
    await copyFile(from, join(root, at));
    // Whoever it is that a container runs as.
    await chmod(join(root, at), 0o755);
  }
  for (const [at, text] of Object.entries(texts)) {
    await mkdir(dirname(join(root, at)), { recursive: true });
    await writeFile(join(root, at), text);
    // Some are scripts.
    await chmod(join(root, at), 0o755);
  }
  for (const [at, target] of Object.entries(links)) {
    await mkdir(dirname(join(root, at)), { recursive: true });
    await symlink(target, join(root, at));
  }
}

function configOf({ entrypoint, command, user, workingDir, env = {} }: ImageSpec, layerSum: string): object {
  const { os, arch } = platform();
  return {
    os,
    architecture: arch,
    created: new Date(0).toISOString(),
    config: {
      Entrypoint: entrypoint,
      ...(command === undefined ? {} : { Cmd: command }),
      Env: Object.entries({ PATH: '/usr/local/bin:/usr/bin:/bin', ...env }).map(([name, value]) => `${name}=${value}`),
      ...(user === undefined ? {} : { User: user }),
      ...(workingDir === undefined ? {} : { WorkingDir: workingDir }),
    },
    rootfs: { type: 'layers', diff_ids: [`sha256:${layerSum}`] },
    history: [{ created: new Date(0).toISOString(), created_by: 'fairlead testbed' }],
  };
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
