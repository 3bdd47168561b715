import { join } from 'node:path';
import { ALLOCATOR, NODE_ENVIRONMENT, NODE_FLAGS, REPOSITORY, allocatorEnvironment } from '@fairlead/stack';
import { filesBelow, programImage, type ImageSpec } from '@fairlead/testbed';

/** Where the Dockerfile puts it. */
const IN_IMAGE = `usr/local/lib/${ALLOCATOR}`;

interface AppImageOptions {
  /** Apps whose bundles are in it besides. */
  readonly beside?: readonly string[];
  /** Programs besides Node, by where they are in the image. */
  readonly programs?: Readonly<Record<string, string>>;
  readonly texts?: Readonly<Record<string, string>>;
}

/** The image of an app of ours as the Dockerfile makes it: Node, its flags, the bundle, and a gateway's allocator. */
export async function appImage(app: string, name: string, options: AppImageOptions = {}): Promise<ImageSpec> {
  const { beside = [], programs = {}, texts = {} } = options;
  const bundleOf = (of: string): string => join('apps', of, 'dist', 'bundle');
  const files = [app, ...beside].map((of) => filesBelow(join(REPOSITORY, bundleOf(of)), join('app', bundleOf(of))));
  const { LD_PRELOAD: allocator } = app === 'gateway' ? allocatorEnvironment() : {};
  return programImage({
    name,
    files: Object.assign({}, ...(await Promise.all(files))) as Record<string, string>,
    programs: { 'usr/local/bin/node': process.execPath, ...(allocator && { [IN_IMAGE]: allocator }), ...programs },
    texts,
    entrypoint: ['node', ...NODE_FLAGS],
    command: [join(bundleOf(app), 'main.js')],
    user: '65532:65532',
    workingDir: '/app',
    env: { NODE_ENV: 'production', ...NODE_ENVIRONMENT, ...(allocator && { LD_PRELOAD: `/${IN_IMAGE}` }) },
  });
}
