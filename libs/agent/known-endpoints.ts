import { MAX_ENDPOINTS, isEndpointAddress, isRegion, isServerName, type NamedEndpoints } from '@fairlead/pki';
import { z } from 'zod';

const Former = z.object({
  address: z.string().refine(isEndpointAddress),
  serverName: z.string().refine(isServerName).optional(),
});
const Named = Former.extend({
  region: z.string().refine(isRegion).optional(),
  weight: z.int().min(1),
  state: z.enum(['active', 'draining']),
});

/** Of the newest ones: each may be the last that works. */
const MAX_FORMER = 16;

/** What an agent keeps beside its identity of where gateways are. What cannot be read is as if it had never been told. */
export const storedEndpoints = {
  /** As the newest trust bundle says. Absent: nobody ever named any. */
  endpoints: z.array(Named).max(MAX_ENDPOINTS).optional().catch(undefined),
  /** Named before, and no more: kept until a link has stood at one that is named now. Newest first. */
  formerEndpoints: z.array(Former).max(MAX_FORMER).optional().catch(undefined),
};
export type StoredEndpoints = z.infer<z.ZodObject<typeof storedEndpoints>>;

/** What is known after a bundle that was verified. One that says nothing of endpoints changes nothing. */
export function afterBundle(known: StoredEndpoints, { endpoints }: NamedEndpoints): StoredEndpoints {
  if (endpoints === undefined) return pick(known);
  const named = new Set(endpoints.map(({ address }) => address));
  const before = [...(known.endpoints ?? []), ...(known.formerEndpoints ?? [])];
  const former = before
    .filter(({ address }) => !named.has(address))
    .map(({ address, serverName }) => ({ address, ...(serverName === undefined ? {} : { serverName }) }));
  return {
    endpoints: endpoints.map((each) => Named.parse(each)),
    formerEndpoints: former.slice(0, MAX_FORMER),
  };
}

/** The former ones are forgotten; the very same identity, if there are none. */
export function withoutFormer<T extends StoredEndpoints>(identity: T): T {
  const { formerEndpoints = [] } = identity;
  return formerEndpoints.length === 0 ? identity : { ...identity, formerEndpoints: [] };
}

function pick({ endpoints, formerEndpoints }: StoredEndpoints): StoredEndpoints {
  return { ...(endpoints ? { endpoints } : {}), ...(formerEndpoints ? { formerEndpoints } : {}) };
}
