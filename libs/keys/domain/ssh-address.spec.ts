import { CatalogSource } from '@fairlead/desired-state';
import { expect, it } from 'vitest';
import { clusterSshUrl, usualSshUrl } from './ssh-address.js';

const here = { sshHost: 'git.example.com', sshPort: 22 };

it.each([
  ['git@github.com:org/catalog.git', here, 'ssh://git@git.example.com/org/catalog.git'],
  ['ssh://git@127.0.0.1:2222/org/catalog.git', here, 'ssh://git@git.example.com/org/catalog.git'],
  ['gitea@git:/org/catalog.git', { ...here, sshPort: 2222 }, 'ssh://gitea@git.example.com:2222/org/catalog.git'],
])('makes of %s what clusters dial', (says, address, url) => {
  expect(clusterSshUrl(address, says)).toBe(url);
  expect(CatalogSource.shape.url.safeParse(url).success).toBe(true);
});

it('knows the usual address, and refuses what is none', () => {
  expect(usualSshUrl({ ...here, sshPort: 2222 }, 'org/catalog')).toBe('ssh://git@git.example.com:2222/org/catalog.git');
  for (const wrong of ['', 'https://github.com/org/catalog.git', 'ssh://-oProxy@x/y', 'git@host:-x']) {
    expect(() => clusterSshUrl(here, wrong)).toThrow('no address');
  }
});
