import { z } from 'zod';

/**
 * How a cluster is told who a request is of. `user`: by the user name, to which its own RBAC may bind. `extra`: as an extra of one fixed user, the only one whom the
 * agent may then impersonate: its service account's token is worth no other name, `system:` ones least of all.
 */
export const UserNames = z.enum(['user', 'extra']);
export type UserNames = z.infer<typeof UserNames>;

/** Whom the cluster sees where names are extras. No issuer and no token gives this name. */
export const FIXED_USER = 'fairlead:user';
/** Of the extra that holds the name. Lower case: the kube-apiserver makes it so. */
export const USER_EXTRA = 'fairlead.dev/user';
