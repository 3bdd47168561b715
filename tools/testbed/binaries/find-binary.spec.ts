import { describe, expect, it } from 'vitest';
import { tinyComponent } from '../fixtures/tiny-component.js';
import { PROVIDERS, type ProviderName } from '../settings.js';
import { choose, providersOf } from './find-binary.js';
import type { Binary, BinaryProvider, Probe } from './provider.js';

type Name = BinaryProvider['name'];

function fake(name: Name, probe: Probe['state'], obtain?: () => Promise<Binary>): BinaryProvider {
  const answers: Record<Probe['state'], Probe> = {
    ready: { state: 'ready', binary: binary(name) },
    possible: { state: 'possible', how: 'gets it' },
    no: { state: 'no', why: `${name} has none` },
  };
  return {
    name,
    advice: () => `install ${name}`,
    probe: async () => answers[probe],
    obtain: obtain ?? (async () => binary(name)),
  };
}

const binary = (provider: Name): Binary => ({
  path: `/${provider}/etcd`,
  version: '1.2.3',
  provider,
  why: 'it is here',
});

function run(...providers: BinaryProvider[]) {
  const lines: string[] = [];
  const settings = { providers: PROVIDERS, chosen: false, cacheDir: '/nowhere' };
  const context = { settings, env: {}, log: (line: string) => lines.push(line) };
  return { lines, result: choose(tinyComponent(), context, providers) };
}

describe('choose', () => {
  it('takes the first provider that has it, and says which, why, and what was passed over', async () => {
    const { result, lines } = run(fake('env', 'no'), fake('path', 'no'), fake('go', 'ready'));
    await expect(result).resolves.toMatchObject({ provider: 'go' });
    expect(lines).toEqual(['etcd 1.2.3: /go/etcd (go: it is here; not path: path has none)']);
  });

  it('prefers what is here to what has to be fetched first', async () => {
    await expect(run(fake('download', 'possible'), fake('go', 'ready')).result).resolves.toMatchObject({
      provider: 'go',
    });
  });

  it('goes on to the next provider when one does not work out, and says so', async () => {
    const broken = fake('download', 'possible', () => Promise.reject(new Error('no route')));
    const { result, lines } = run(fake('path', 'no'), broken, fake('go', 'possible'));
    await expect(result).resolves.toMatchObject({ provider: 'go' });
    expect(lines[0]).toBe('etcd: download did not work: no route');
  });

  it('names every reason and what to install where nothing works', async () => {
    const broken = fake('download', 'possible', () => Promise.reject(new Error('no route')));
    const { result } = run(fake('env', 'no'), fake('path', 'no'), broken, fake('go', 'no'));
    const error = await result.catch((caught: Error) => caught.message);
    expect(error).toBe(
      [
        'no etcd 1.2.3 here:',
        '  env: env has none',
        '  path: path has none',
        '  download: no route',
        '  go: go has none',
        '  To get it: install env; or install path; or install download; or install go.',
      ].join('\n'),
    );
  });

  it('does not fall through when what was asked for explicitly does not work', async () => {
    const explicit = {
      ...fake('env', 'no'),
      probe: () => Promise.reject(new Error('FAIRLEAD_TESTBED_TINY does not run')),
    };
    await expect(run(explicit, fake('go', 'ready')).result).rejects.toThrow('FAIRLEAD_TESTBED_TINY does not run');
  });
});

it('keeps the chosen order and leaves Docker out', () => {
  const settings = { providers: ['go', 'docker', 'env'] as ProviderName[], chosen: true, cacheDir: '/nowhere' };
  expect(providersOf(settings).map((provider) => provider.name)).toEqual(['go', 'env']);
});
