import { expect, it } from 'vitest';
import { ApiSettings } from './settings.js';

const settings = (clusterDomain?: string): ApiSettings =>
  new ApiSettings({
    publicUrl: 'https://x',
    doors: [
      { name: 'a', url: 'https://door.example:7443' },
      { name: 'b', url: 'https://127.0.0.1' },
    ],
    connectDoors: [],
    clusterDomain,
    readiness: () => [],
  });

it('tells each door, and a cluster’s own host name there where clusters have one', () => {
  expect(settings().doorsOf('demo')).toEqual([
    { name: 'a', url: 'https://door.example:7443' },
    { name: 'b', url: 'https://127.0.0.1' },
  ]);
  expect(settings('k.example').doorsOf('demo')).toEqual([
    { name: 'a', url: 'https://door.example:7443', byName: 'https://demo.k.example:7443' },
    { name: 'b', url: 'https://127.0.0.1', byName: 'https://demo.k.example' },
  ]);
});
