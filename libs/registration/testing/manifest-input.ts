import type { ImportManifestInput } from '../domain/import-manifest.js';

/** A cluster with all that is there without being asked for. */
export const MANIFEST_INPUT = {
  cluster: { name: 'demo', id: '0d0d7f0e-6d0e-4b5c-9a0c-3d9f6d1f0001' },
  endpoints: ['gw-a.example.test:7444'],
  pins: ['ab'.repeat(32), 'cd'.repeat(32)],
  trustDomain: 'fairlead.local',
  links: 1,
  targets: [],
  egress: [],
  image: 'registry.example.test/fairlead/agent:0.1.0',
  bootstrapToken: 'fl1.aa.id.secret-part',
  installer: { image: 'registry.example.test/fairlead/installer:0.1.0' },
  values: {},
} satisfies ImportManifestInput;
