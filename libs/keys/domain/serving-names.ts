import { FairleadError } from '@fairlead/errors';

/**
 * Names that serving certificates may carry, in lower case, by who asks for them. One list for all would let a gateway that was taken over
 * pass for the admin API, and collect the administrator's token.
 */
export type ServingNames = Readonly<Record<'api' | 'gateway', readonly string[]>>;

const SETTINGS = { api: 'FAIRLEAD_API_SERVING_NAMES', gateway: 'FAIRLEAD_GATEWAY_SERVING_NAMES' } as const;

/** FORBIDDEN for a name that is not listed for this role, and for a role that has no list. */
export function checkServingNames(allowed: ServingNames, role: string, names: readonly string[]): void {
  if (role !== 'api' && role !== 'gateway') {
    throw new FairleadError('FORBIDDEN', `a process of the role ${role} gets no serving certificates`);
  }
  const foreign = names.filter((name) => !allowed[role].includes(name));
  if (foreign.length === 0) return;
  throw new FairleadError('FORBIDDEN', `${SETTINGS[role]} of the keys service does not list ${foreign.join(', ')}`);
}
