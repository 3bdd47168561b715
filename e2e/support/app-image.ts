import { join } from 'node:path';
import { NODE_FLAGS, REPOSITORY } from '@fairlead/stack';
import { filesBelow, programImage, type ImageSpec } from '@fairlead/testbed';

/** The image of an app of ours as the Dockerfile makes it: Node, its flags, and the bundle. */
export async function appImage(app: string, name: string): Promise<ImageSpec> {
  const bundle = join('apps', app, 'dist', 'bundle');
  return programImage({
    name,
    files: await filesBelow(join(REPOSITORY, bundle), join('app', bundle)),
    programs: { 'usr/local/bin/node': process.execPath },
    entrypoint: ['node', ...NODE_FLAGS],
    command: [join(bundle, 'main.js')],
    user: '65532:65532',
    workingDir: '/app',
    env: { NODE_ENV: 'production' },
  });
}
