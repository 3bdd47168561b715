import { expect, it } from 'vitest';
import { readConfig } from './config.js';

const env = {
  FAIRLEAD_CLUSTER_ID: '6d7f8d3e-8a53-4b6e-9d0a-1f2e3d4c5b6a',
  FAIRLEAD_TRUST_DOMAIN: 'fairlead.local',
  FAIRLEAD_ROOT_PINS: `${'a'.repeat(64)},${'b'.repeat(64)}`,
  FAIRLEAD_HEALTH_LISTEN: '127.0.0.1:0',
};

it('an installer needs to know its cluster, its trust domain and a root, and no more', () => {
  expect(readConfig(env)).toMatchObject({ FAIRLEAD_NAMESPACE: 'fairlead-system', FAIRLEAD_INTERVAL_SECONDS: 10 });
  expect(() => readConfig({ FAIRLEAD_HEALTH_LISTEN: '127.0.0.1:0' })).toThrow(
    /FAIRLEAD_CLUSTER_ID[^]*FAIRLEAD_TRUST_DOMAIN[^]*FAIRLEAD_ROOT_PINS/,
  );
});

it('looks at hosts on the ports that it is told, and never keeps what a proxy is called', () => {
  expect(readConfig(env)).toMatchObject({ FAIRLEAD_PREFLIGHT_PORTS: [], HTTPS_PROXY: false });
  const told = { ...env, FAIRLEAD_PREFLIGHT_PORTS: '443,6443', https_proxy: 'http://user:word@proxy:3128' };
  expect(readConfig(told)).toMatchObject({ FAIRLEAD_PREFLIGHT_PORTS: [443, 6443], HTTPS_PROXY: true });
  expect(readConfig({ ...env, FAIRLEAD_PREFLIGHT_PORTS: '' }).FAIRLEAD_PREFLIGHT_PORTS).toEqual([]);
  expect(() => readConfig({ ...env, FAIRLEAD_PREFLIGHT_PORTS: 'https' })).toThrow(/FAIRLEAD_PREFLIGHT_PORTS/);
});

it('no root is no trust', () => {
  expect(() => readConfig({ ...env, FAIRLEAD_ROOT_PINS: ',' })).toThrow(/FAIRLEAD_ROOT_PINS/);
  expect(() => readConfig({ ...env, FAIRLEAD_ROOT_PINS: 'abc' })).toThrow(/FAIRLEAD_ROOT_PINS/);
});
