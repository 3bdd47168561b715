import { readAttributes } from '@fairlead/access-rules';
import { readStreamRequest } from '@fairlead/kube-http';
import { expect, it } from 'vitest';
import { DOOR_NAMES } from './door-table.js';
import { needsIntent } from './needs-intent.js';

const PODS = '/api/v1/namespaces/shop/pods';

it.each([
  ['GET', '/version', false],
  ['POST', '/version', true],
  ['GET', PODS, false],
  ['GET', `${PODS}?watch=1`, false],
  ['GET', `${PODS}/web/log`, false],
  ['HEAD', `${PODS}/web`, false],
  ['POST', PODS, true],
  ['PUT', `${PODS}/web`, true],
  ['PATCH', `${PODS}/web`, true],
  ['DELETE', `${PODS}/web`, true],
  ['DELETE', PODS, true],
  ['GET', `${PODS}/web/exec`, true],
  ['GET', `${PODS}/web/attach`, true],
  ['GET', `${PODS}/web/portforward`, true],
  ['GET', `${PODS}/web/proxy/metrics`, true],
  ['GET', '/api/v1/proxy/namespaces/shop/pods/web', true],
  ['MADE-UP', PODS, true],
])('%s %s', (method, target, expected) => {
  expect(needsIntent('kube-api', { method, attributes: readAttributes(method, target) })).toBe(expected);
});

it('is true of whatever switches to another protocol, cannot be read, or came to another door', () => {
  const stream = { ...readStreamRequest('/'), protocol: 'websocket' } as const;
  const attributes = readAttributes('GET', '/version');
  expect(needsIntent('kube-api', { method: 'GET', attributes, stream })).toBe(true);
  expect(needsIntent('kube-api', { method: 'GET' })).toBe(true);
  for (const door of DOOR_NAMES.filter((name) => name !== 'kube-api'))
    expect(needsIntent(door, { method: 'GET', attributes })).toBe(true);
});
