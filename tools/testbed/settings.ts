import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { TestbedError } from './errors.js';

/** Ways to get a component, in the order they are tried. */
export const PROVIDERS = ['env', 'docker', 'path', 'download', 'go'] as const;
export type ProviderName = (typeof PROVIDERS)[number];

export interface Settings {
  /** Providers to try, in order. */
  readonly providers: readonly ProviderName[];
  /** Whether FAIRLEAD_TESTBED_PROVIDERS chose them: some are used only when asked for. */
  readonly chosen: boolean;
  /** Where binaries are kept, per user. */
  readonly cacheDir: string;
}

/**
 * Reads FAIRLEAD_TESTBED_PROVIDERS (a comma-separated choice and order) and FAIRLEAD_CACHE_DIR (else XDG_CACHE_HOME/fairlead,
 * else ~/.cache/fairlead). Throws TestbedError for a provider there is none of.
 */
export function readSettings(env: NodeJS.ProcessEnv = process.env): Settings {
  const wanted = (env['FAIRLEAD_TESTBED_PROVIDERS'] ?? '').split(',').map((name) => name.trim());
  const names = wanted.filter((name) => name !== '');
  const unknown = names.filter((name) => !isProvider(name));
  if (unknown.length > 0) {
    throw new TestbedError(
      `FAIRLEAD_TESTBED_PROVIDERS: no provider ${unknown.join(', ')}; there are ${PROVIDERS.join(', ')}`,
    );
  }
  const chosen = names.length > 0;
  const base = env['FAIRLEAD_CACHE_DIR'] ?? join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'fairlead');
  return { providers: chosen ? names.filter(isProvider) : PROVIDERS, chosen, cacheDir: join(resolve(base), 'testbed') };
}

const isProvider = (name: string): name is ProviderName => (PROVIDERS as readonly string[]).includes(name);
