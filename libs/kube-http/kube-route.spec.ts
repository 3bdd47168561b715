import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { kubeRoute } from './kube-route.js';

it.each([
  ['/', '/'],
  ['/version', '/version'],
  ['/openapi/v3/apis/apps/v1?hash=A1', '/openapi/{path}'],
  ['/api', '/api'],
  ['/api/v1', '/api/v1'],
  ['/api/v1/pods?labelSelector=secret', '/api/v1/pods'],
  ['/api/v1/nodes/n1/proxy/metrics/cadvisor', '/api/v1/nodes/{name}/proxy/{path}'],
  ['/api/v1/namespaces', '/api/v1/namespaces'],
  ['/api/v1/namespaces/shop', '/api/v1/namespaces/{name}'],
  ['/api/v1/namespaces/shop/status', '/api/v1/namespaces/{name}/status'],
  ['/api/v1/namespaces/shop/pods', '/api/v1/namespaces/{namespace}/pods'],
  ['/api/v1/namespaces/shop/pods/web-0/log?follow=true', '/api/v1/namespaces/{namespace}/pods/{name}/log'],
  ['/api/v1/watch/namespaces/shop/pods/web-0', '/api/v1/watch/namespaces/{namespace}/pods/{name}'],
  ['/api/v1/watch', '/api/v1/watch'],
  [`/api/v1${'/watch'.repeat(10_000)}`, '/api/v1/watch/watch/{name}/watch/{path}'],
  ['/apis', '/apis'],
  ['/apis/apps/v1/deployments', '/apis/apps/v1/deployments'],
  ['/apis/x.io/v1/namespaces/a/b/c/scale', '/apis/x.io/v1/namespaces/{namespace}/b/{name}/scale'],
  ['/what/else', '/{path}'],
  ['/api/v1/%73ecrets', '/api/v1/{path}'],
  ['/api/{secret', '/api/{path}'],
])('%s is %s', (target, route) => expect(kubeRoute(target)).toBe(route));

it('no path makes a long route, or one with a blank or a query', () => {
  const segment = fc.oneof(
    fc.string(),
    fc.constantFrom('api', 'apis', 'v1', 'namespaces', 'watch', 'pods', '..', '%2e', '{', '{name}'),
  );
  fc.assert(
    fc.property(fc.array(segment, { maxLength: 12 }), (segments) => {
      const route = kubeRoute(`/${segments.join('/')}`);
      expect(route.length).toBeLessThan(600);
      expect(route).toMatch(/^\/(?:[a-z0-9.-]+|\{[a-z]+\})?(?:\/(?:[a-z0-9.-]+|\{[a-z]+\}))*$/);
    }),
  );
});
