import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROVIDERS, readSettings } from './settings.js';

describe('readSettings', () => {
  it('tries all providers in the documented order by default', () => {
    expect(readSettings({})).toMatchObject({ providers: PROVIDERS, chosen: false });
    expect(readSettings({ FAIRLEAD_TESTBED_PROVIDERS: '' })).toMatchObject({ providers: PROVIDERS, chosen: false });
  });

  it('lets the environment choose and order them', () => {
    const settings = readSettings({ FAIRLEAD_TESTBED_PROVIDERS: 'go, path' });
    expect(settings).toMatchObject({ providers: ['go', 'path'], chosen: true });
  });

  it('refuses a provider there is none of', () => {
    expect(() => readSettings({ FAIRLEAD_TESTBED_PROVIDERS: 'go,podman' })).toThrow('no provider podman');
  });

  it('finds the cache per user', () => {
    expect(readSettings({}).cacheDir).toBe(join(homedir(), '.cache/fairlead/testbed'));
    expect(readSettings({ XDG_CACHE_HOME: '/x' }).cacheDir).toBe('/x/fairlead/testbed');
    expect(readSettings({ XDG_CACHE_HOME: '/x', FAIRLEAD_CACHE_DIR: '/y' }).cacheDir).toBe('/y/testbed');
  });
});
