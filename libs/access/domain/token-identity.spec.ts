import { expect, it } from 'vitest';
import { identityOf } from './token-identity.js';

it('gives the administrator a group in every cluster, and any other token a name and nothing', () => {
  expect(identityOf({ kind: 'administrator', name: 'admin' })).toEqual({ user: 'admin', groups: ['fairlead:admins'] });
  // Also one that is called like the administrator.
  expect(identityOf({ kind: 'token', name: 'admin' })).toEqual({ user: 'token:admin', groups: [] });
});
