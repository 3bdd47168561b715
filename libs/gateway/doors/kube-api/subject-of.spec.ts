import { expect, it } from 'vitest';
import { subjectOfRequest, subjectOfUpgrade } from './subject-of.js';

const asked = (target: string) => ({ granted: undefined, address: { cluster: 'demo', below: '', target } });

it.each([
  ['GET', '/api/v1/namespaces/shop/pods', 'request', 'list pods in the namespace "shop"'],
  ['GET', '/api/v1/namespaces/shop/pods?watch=1', 'watch', 'watch pods in the namespace "shop"'],
  ['GET', '/api/v1/namespaces/shop/pods/cart-0/log?follow=true', 'log', 'get pods/log in the namespace "shop": cart-0'],
  [
    'DELETE',
    '/apis/apps/v1/namespaces/shop/deployments/cart',
    'request',
    'delete deployments.apps in the namespace "shop": cart',
  ],
  ['POST', '/api/v1/nodes/n1/proxy/run/shop/cart-0/app', 'proxy', 'create nodes/proxy: n1'],
  [
    'GET',
    '/api/v1/namespaces/shop/pods/cart-0/exec?command=ls',
    'exec',
    'get pods/exec in the namespace "shop": cart-0',
  ],
  ['GET', '/metrics?token=secret', 'request', 'get /metrics'],
  ['GET', '/%zz', 'request', ''],
])('%s %s is told as %s', (method, target, kind, said) => {
  expect(subjectOfRequest(method, asked(target))).toEqual({ kind, target: said });
});

it.each([
  [
    '/api/v1/namespaces/shop/pods/cart-0/exec?command=cat&command=/etc/secret',
    'exec',
    'create pods/exec in the namespace "shop": cart-0',
  ],
  ['/api/v1/namespaces/shop/pods/cart-0/attach', 'attach', 'create pods/attach in the namespace "shop": cart-0'],
  [
    '/api/v1/namespaces/shop/pods/cart-0/portforward',
    'port-forward',
    'create pods/portforward in the namespace "shop": cart-0',
  ],
  ['/api/v1/namespaces/shop/services/web/proxy/', 'proxy', 'create services/proxy in the namespace "shop": web'],
])('an upgrade of %s is told as %s, without its command', (target, kind, said) => {
  expect(subjectOfUpgrade(asked(target))).toEqual({ kind, target: said });
});
