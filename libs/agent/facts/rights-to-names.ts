import { FIXED_USER, USER_EXTRA, type UserNames } from '@fairlead/access-rules';
import type { ReviewedRight } from './review-right.js';

/** What an agent has to be allowed so that it can tell its cluster who a request is of. */
export function rightsToNames(userNames: UserNames): readonly ReviewedRight[] {
  const users = { verb: 'impersonate', resource: 'users' };
  if (userNames === 'user') return [users];
  const extra = {
    verb: 'impersonate',
    group: 'authentication.k8s.io',
    resource: 'userextras',
    subresource: USER_EXTRA,
  };
  return [{ ...users, name: FIXED_USER }, extra];
}
