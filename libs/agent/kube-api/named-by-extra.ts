import { FIXED_USER, USER_EXTRA } from '@fairlead/access-rules';
import type { TunnelIdentity } from '@fairlead/kube-http';

/** The same person as the one user whom this agent may impersonate: their name is an extra, and no other extra is. */
export function namedByExtra({ user, groups }: TunnelIdentity): TunnelIdentity {
  return { user: FIXED_USER, groups, extra: [{ key: USER_EXTRA, values: [user] }] };
}
