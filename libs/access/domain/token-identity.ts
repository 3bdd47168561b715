import type { KubeIdentity } from '@fairlead/contracts';

/** Whose token it is: the administrator's is the way in when all else is away, every other one has what is granted to it. */
export type ApiTokenKind = 'administrator' | 'token';

/** The name of the administrator's token, and of its user. */
export const ADMINISTRATOR = 'admin';
const ADMINISTRATOR_GROUPS = ['fairlead:admins'];

/** Who the holder of a token is in clusters and in events, and the groups that it has there without any grant. */
export function identityOf({ kind, name }: { readonly kind: ApiTokenKind; readonly name: string }): KubeIdentity {
  return kind === 'administrator'
    ? { user: name, groups: [...ADMINISTRATOR_GROUPS] }
    : { user: `token:${name}`, groups: [] };
}
