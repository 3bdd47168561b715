import { FairleadError } from '@fairlead/errors';

/**
 * Names that serving certificates may carry, in lower case, by who asks for them. One list for all would let a gateway that was taken over
 * pass for the admin API, and collect the administrator's token.
 */
export type ServingNames = Readonly<Record<'api' | 'gateway', readonly string[]>>;

const SETTINGS = { api: 'FAIRLEAD_API_SERVING_NAMES', gateway: 'FAIRLEAD_GATEWAY_SERVING_NAMES' } as const;

/** A wildcard of one role that holds for a name of the other, in words; null: there is none. The same name in both lists is somebody's choice, this is an accident. */
export function overlapOf(allowed: ServingNames): string | null {
  for (const [one, other] of [
    ['gateway', 'api'],
    ['api', 'gateway'],
  ] as const) {
    for (const wildcard of allowed[one].filter((name) => name.startsWith('*.'))) {
      const name = allowed[other].find((each) => each !== wildcard && holdsFor(wildcard, each));
      if (name !== undefined) return `${wildcard} of ${SETTINGS[one]} holds for ${name} of ${SETTINGS[other]}, too`;
    }
  }
  return null;
}

/** A wildcard stands for one label (RFC 9525, section 6.3). */
function holdsFor(wildcard: string, name: string): boolean {
  return name.slice(name.indexOf('.')) === wildcard.slice(1);
}

/** FORBIDDEN for a name that is not listed for this role, and for a role that has no list. */
export function checkServingNames(allowed: ServingNames, role: string, names: readonly string[]): void {
  if (role !== 'api' && role !== 'gateway') {
    throw new FairleadError('FORBIDDEN', `a process of the role ${role} gets no serving certificates`);
  }
  const foreign = names.filter((name) => !allowed[role].includes(name));
  if (foreign.length === 0) return;
  throw new FairleadError('FORBIDDEN', `${SETTINGS[role]} of the keys service does not list ${foreign.join(', ')}`);
}
