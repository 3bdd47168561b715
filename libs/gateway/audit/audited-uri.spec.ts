import { readAttributes } from '@fairlead/access-rules';
import { expect, it } from 'vitest';
import { auditedUri } from './audited-uri.js';

const PODS = '/api/v1/namespaces/shop/pods';

it.each([
  [PODS, PODS],
  [`${PODS}?labelSelector=app%3Dweb&watch=1&limit=500`, `${PODS}?labelSelector=app%3Dweb&watch=1&limit=500`],
  [`${PODS}?limit=500&token=hunter2`, `${PODS}?limit=500&token=_`],
  [`${PODS}?pretty=hunter2&timeoutSeconds=hunter2&dryRun=All`, `${PODS}?pretty=_&timeoutSeconds=_&dryRun=All`],
  [`${PODS}?hunter2`, `${PODS}?_`],
  [`${PODS}?=hunter2&hun%20ter2=x`, `${PODS}?_&_`],
  [`${PODS}/web/exec?command=hunter2&stdin=true&container=app`, `${PODS}/web/exec?command=_&stdin=true&container=app`],
  [`${PODS}/web/proxy/login?watch=hunter2`, `${PODS}/web/proxy/login?_`],
  ['/api/v1/proxy/nodes/n1/x?limit=hunter2', '/api/v1/proxy/nodes/n1/x?_'],
  ['/metrics?limit=hunter2', '/metrics?_'],
])('%s is kept as %s', (target, kept) => {
  expect(auditedUri(target, readAttributes('GET', target))).toBe(kept);
});

it('keeps nothing of a query that nobody can read, and has a longest length', () => {
  expect(auditedUri('/x?limit=5', undefined)).toBe('/x?_');
  const long = auditedUri(`${PODS}?${'limit=5&'.repeat(100_000)}`, readAttributes('GET', PODS));
  expect(long.split('&')).toHaveLength(64);
  expect(auditedUri(`/${'x'.repeat(100_000)}`, undefined)).toHaveLength(2_048);
});
