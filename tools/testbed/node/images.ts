import { execFile } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findBinary, type FindOptions } from '../binaries/find-binary.js';
import { goModuleDir } from '../binaries/go-module.js';
import { logToStderr } from '../log.js';
import type { ImageSpec } from './image-archive.js';
import { requireNodePrograms } from './requirements.js';

/** Holds the namespaces of each pod. */
export const PAUSE_IMAGE = 'fairlead/pause:1';
export const COREDNS_IMAGE = 'fairlead/coredns:1';

const NODE = 'usr/local/bin/node';
/** As in `go/kubernetes-e2e/go.sum`: it has files that agnhost reads. */
const KUBERNETES = {
  path: 'k8s.io/kubernetes',
  version: 'v1.34.4',
  sum: 'h1:Yy6R4QB8C9kJPp25GFqEvX5XQwY5qzKeqD0Xx6oAcmk=',
};

/** What the node itself needs, what tests of Kubernetes use (`agnhost:1`), and `shell:1` and `node:1`, which a container's `args` tell what to do. */
export async function nodeImages(options: FindOptions): Promise<ImageSpec[]> {
  const [pause, coredns, agnhost] = [
    await findBinary('pause', options),
    await findBinary('coredns', options),
    await findBinary('agnhost', options),
  ];
  const shell = await busybox();
  return [
    { name: PAUSE_IMAGE, files: await program('pause', pause.path), entrypoint: ['/pause'], user: '65535:65535' },
    { name: COREDNS_IMAGE, files: await program('coredns', coredns.path), entrypoint: ['/coredns'] },
    await inShell('agnhost:1', 'agnhost', agnhost.path, ['/agnhost']),
    { name: 'shell:1', ...shell, entrypoint: ['/bin/sh', '-c'] },
    await inShell('node:1', NODE, process.execPath, [`/${NODE}`, '-e']),
  ];

  async function inShell(name: string, at: string, path: string, entrypoint: string[]): Promise<ImageSpec> {
    return { name, ...shell, files: { ...shell.files, ...(await program(at, path)) }, entrypoint };
  }
}

/**
 * Stand-ins for images that upstream's end-to-end tests name, at the names of Kubernetes 1.34.4. agnhost is theirs, with our shell in
 * place of Alpine: it has no curl, no dig, and busybox's own nc.
 */
export async function upstreamImages(options: FindOptions = {}): Promise<ImageSpec[]> {
  const [pause, agnhost] = [await findBinary('pause', options), await findBinary('agnhost', options)];
  const shell = await busybox();
  const porter = join(await goModuleDir(KUBERNETES), 'test/images/agnhost/porter');
  const certificate = {
    'localhost.crt': join(porter, 'localhost.crt'),
    'localhost.key': join(porter, 'localhost.key'),
  };
  return [
    { name: 'registry.k8s.io/pause:3.10.1', files: await program('pause', pause.path), entrypoint: ['/pause'] },
    { name: 'registry.k8s.io/e2e-test-images/busybox:1.37.0-1', ...shell, entrypoint: [], command: ['sh'] },
    {
      name: 'registry.k8s.io/e2e-test-images/agnhost:2.56',
      ...shell,
      files: { ...shell.files, ...(await program('agnhost', agnhost.path)), ...certificate },
      links: { ...shell.links, 'agnhost-2': 'agnhost' },
      entrypoint: ['/agnhost'],
      command: ['pause'],
    },
  ];
}

/** Programs of this machine in an image of their own, each with the shared libraries that it is linked with, and a shell beside them: a layer for all images that have these. */
export async function programImage(
  image: Omit<ImageSpec, 'links' | 'base'> & { readonly programs: Readonly<Record<string, string>> },
): Promise<ImageSpec> {
  const { programs, ...spec } = image;
  await requireNodePrograms(logToStderr);
  const shell = await busybox();
  const files: Record<string, string> = { ...shell.files };
  for (const [at, path] of Object.entries(programs)) Object.assign(files, await program(at, path));
  return { ...spec, base: { ...shell, files } };
}

/** Debian's static busybox under all of its names. */
async function busybox(): Promise<Required<Pick<ImageSpec, 'files' | 'links' | 'texts'>>> {
  const { stdout } = await promisify(execFile)('sh', ['-c', 'command -v busybox && busybox --list']);
  const [path = '', ...names] = stdout.trim().split('\n');
  const links = names.filter((name) => name !== 'busybox').map((name) => [`bin/${name}`, 'busybox']);
  return {
    files: { 'bin/busybox': await realpath(path) },
    links: Object.fromEntries(links) as Record<string, string>,
    texts: { 'etc/passwd': 'root:x:0:0:root:/:/bin/sh\n', 'etc/group': 'root:x:0:\n' },
  };
}

/** A program and the shared libraries that it is linked with, where it looks for them. */
async function program(at: string, path: string): Promise<Record<string, string>> {
  const files = { [at]: await realpath(path) };
  const { stdout } = await promisify(execFile)('ldd', [path]).catch((failure: { readonly stderr?: string }) => {
    if (failure.stderr?.includes('not a dynamic executable')) return { stdout: '' };
    throw failure;
  });
  for (const [, library = ''] of stdout.matchAll(/(\/\S+) \(0x/gu)) files[library.slice(1)] = await realpath(library);
  return files;
}
