import { expect, it } from 'vitest';
import { realValue } from './pod-sandbox.js';

const mounts = new Map([['/etc/fairlead-agent', '/state/pod/volume-token']]);

it.each([
  ['FAIRLEAD_BOOTSTRAP_TOKEN_FILE', '/etc/fairlead-agent/token', '/state/pod/volume-token/token'],
  ['FAIRLEAD_PROXY_CREDENTIALS_DIR', '/etc/fairlead-agent', '/state/pod/volume-token'],
  ['FAIRLEAD_IDENTITY', 'secret:fairlead-system/fairlead-agent-identity', undefined],
  ['FAIRLEAD_ENDPOINTS', '127.0.0.1:7444', undefined],
  ['FAIRLEAD_IDENTITY_BUNDLE_FILE', '', undefined],
])('takes %s=%s', (name, value, real) => {
  expect(realValue(name, value, mounts)).toBe(real ?? value);
});

it.each([
  ['FAIRLEAD_BOOTSTRAP_TOKEN_FILE', '/home/me/admin-token'],
  ['FAIRLEAD_BOOTSTRAP_TOKEN_FILE', '/etc/fairlead-agent/../../home/me/admin-token'],
  ['FAIRLEAD_BOOTSTRAP_TOKEN_FILE', 'home/me/admin-token'],
  ['FAIRLEAD_BOOTSTRAP_TOKEN_FILE', '/etc/fairlead-agents/token'],
  ['FAIRLEAD_IDENTITY', 'file:/home/me'],
])('takes no path of this machine: %s=%s', (name, value) => {
  expect(() => realValue(name, value, mounts)).toThrow('none of its volumes has');
});
