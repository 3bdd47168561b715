import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { create } from 'tar';
import { sha256Of } from '../binaries/cache.js';
import { platform } from '../binaries/platform.js';

export interface ImageLayer {
  /** Files of this machine, by where they are in the image. */
  readonly files: Readonly<Record<string, string>>;
  /** Text files, by where they are in the image. */
  readonly texts?: Readonly<Record<string, string>>;
  /** By where they are in the image, what they point to. */
  readonly links?: Readonly<Record<string, string>>;
}

export interface ImageSpec extends ImageLayer {
  /** As pods name it. */
  readonly name: string;
  /** A layer below, which several images may have. */
  readonly base?: ImageLayer;
  readonly entrypoint: readonly string[];
  /** What the entrypoint is given unless a pod says otherwise. */
  readonly command?: readonly string[];
  readonly user?: string;
  /** Where what the entrypoint names begins. Default `/`. */
  readonly workingDir?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Writes an image to `path`, as `writeImages`. */
export function writeImage(path: string, image: ImageSpec): Promise<void> {
  return writeImages(path, [image]);
}

/**
 * Writes images to one archive, in the form that `docker save` has and `docker load` and `ctr images import` take: no engine builds them, and nothing is
 * fetched. A layer that several have is in it once.
 */
export async function writeImages(path: string, images: readonly ImageSpec[]): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'fairlead-image-'));
  try {
    const names = new Set<string>(['manifest.json']);
    const manifest: object[] = [];
    const layerOf = layersIn(work);
    for (const image of images) {
      const layers: string[] = [];
      for (const layer of [...(image.base === undefined ? [] : [image.base]), image]) layers.push(await layerOf(layer));
      const config = JSON.stringify(configOf(image, layers));
      const configName = `${createHash('sha256').update(config).digest('hex')}.json`;
      await writeFile(join(work, configName), config);
      const files = layers.map((sum) => `${sum}.tar`);
      for (const name of [configName, ...files]) names.add(name);
      manifest.push({ Config: configName, RepoTags: [qualified(image.name)], Layers: files });
    }
    await writeFile(join(work, 'manifest.json'), JSON.stringify(manifest));
    const archive = create({ cwd: work, portable: true }, [...names]);
    await pipeline(archive, createWriteStream(`${path}.new`));
    await rename(`${path}.new`, path);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Makes `<sum>.tar` of a layer, once for those that are the same, and resolves with its sum. */
function layersIn(work: string): (layer: ImageLayer) => Promise<string> {
  const made = new Map<string, string>();
  return async ({ files, texts, links }) => {
    const key = JSON.stringify({ files, texts, links });
    const known = made.get(key);
    if (known !== undefined) return known;
    const [root, unnamed] = [join(work, 'root'), join(work, 'layer.tar')];
    await layOut(root, { files, ...(texts ? { texts } : {}), ...(links ? { links } : {}) });
    await create({ file: unnamed, cwd: root, portable: true, mtime: new Date(0) }, ['.']);
    await rm(root, { recursive: true });
    const sum = await sha256Of(unnamed);
    await rename(unnamed, join(work, `${sum}.tar`));
    made.set(key, sum);
    return sum;
  };
}

/** What the container runtime knows it by: a name whose first part is no host, nor `localhost`, is one of Docker's registry. */
export function qualified(name: string): string {
  const [repository, tag = 'latest'] = name.split(':') as [string, string?];
  if (/^(localhost|[^/]*\.[^/]*)\//u.test(repository)) return `${repository}:${tag}`;
  return `docker.io/${repository.includes('/') ? '' : 'library/'}${repository}:${tag}`;
}

async function layOut(root: string, { files, texts = {}, links = {} }: ImageLayer): Promise<void> {
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

function configOf({ entrypoint, command, user, workingDir, env = {} }: ImageSpec, layers: readonly string[]): object {
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
    rootfs: { type: 'layers', diff_ids: layers.map((sum) => `sha256:${sum}`) },
    history: layers.map(() => ({ created: new Date(0).toISOString(), created_by: 'fairlead testbed' })),
  };
}
