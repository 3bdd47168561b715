import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../fixtures/temporary.js';
import { tinyComponent } from '../fixtures/tiny-component.js';
import { PROVIDERS } from '../settings.js';
import { fromEnvironment, fromPath } from './local-providers.js';
import type { Context } from './provider.js';

const context = (env: NodeJS.ProcessEnv): Context => ({
  settings: { providers: PROVIDERS, chosen: false, cacheDir: '/nowhere' },
  env,
  log: () => {},
});

async function install(root: string, folder: string, version: string): Promise<string> {
  const dir = join(root, folder);
  await mkdir(dir);
  await writeFile(join(dir, 'etcd'), `#!/bin/sh\necho "etcd Version: ${version}"\n`, { mode: 0o755 });
  return dir;
}

describe('a binary on PATH or in KUBEBUILDER_ASSETS', () => {
  it('is taken from KUBEBUILDER_ASSETS first', async () => {
    await using root = await temporaryDirectory();
    const env = {
      KUBEBUILDER_ASSETS: await install(root.path, 'a', '1.3.0'),
      PATH: await install(root.path, 'b', '1.4.0'),
    };
    const probe = await fromPath.probe(tinyComponent(), context(env));
    expect(probe).toMatchObject({ state: 'ready', binary: { version: '1.3.0', provider: 'path' } });
  });

  it('is passed over when it is too old, and the reason says so', async () => {
    await using root = await temporaryDirectory();
    const [old, recent] = [await install(root.path, 'a', '1.1.9'), await install(root.path, 'b', '1.2.0')];
    const both = await fromPath.probe(tinyComponent(), context({ PATH: `${old}:${recent}` }));
    expect(both).toMatchObject({ state: 'ready', binary: { path: join(recent, 'etcd') } });
    const one = await fromPath.probe(tinyComponent(), context({ PATH: old }));
    expect(one).toEqual({ state: 'no', why: `${join(old, 'etcd')} is 1.1.9, older than 1.2.0` });
  });

  it('need not be there', async () => {
    const probe = await fromPath.probe(tinyComponent(), context({ PATH: '' }));
    expect(probe).toEqual({ state: 'no', why: 'neither on PATH nor in KUBEBUILDER_ASSETS' });
  });
});

describe('a binary that a variable names', () => {
  it('is taken as it is', async () => {
    await using root = await temporaryDirectory();
    const path = join(await install(root.path, 'a', '1.0.0'), 'etcd');
    const probe = await fromEnvironment.probe(tinyComponent(), context({ FAIRLEAD_TESTBED_TINY: path }));
    expect(probe).toMatchObject({ state: 'ready', binary: { path, version: '1.0.0', provider: 'env' } });
  });

  it('is an error when it does not run', async () => {
    const missing = fromEnvironment.probe(tinyComponent(), context({ FAIRLEAD_TESTBED_TINY: '/nowhere/etcd' }));
    await expect(missing).rejects.toThrow('FAIRLEAD_TESTBED_TINY=/nowhere/etcd does not work');
  });
});
