import {
  MAX_ENDPOINTS,
  MAX_WEIGHT,
  isEndpointAddress,
  isRegion,
  isServerName,
  type LinkEndpoint as NamedEndpoint,
} from '@fairlead/pki';
import { z } from 'zod';
import { UserName } from './primitives.js';
import { Revision, ifRevision } from './revision.js';

/** A DNS name, IPv4 address or bracketed IPv6 address, and a port: in lower case. */
export const EndpointAddress = z
  .string()
  .max(260)
  .toLowerCase()
  .refine(isEndpointAddress, 'write an endpoint as HOST:PORT, such as link.example.com:443 or [fd00::7]:443');

/** Where agents reach gateways. */
export const LinkEndpoint = z.object({
  address: EndpointAddress,
  serverName: z
    .string()
    .max(253)
    .toLowerCase()
    .refine(isServerName, 'a server name is a DNS name')
    .optional()
    .describe('What agents call the gateway there in TLS (SNI). Absent: what their import manifest says.'),
  region: z
    .string()
    .max(63)
    .refine(isRegion, 'a region is 1 to 63 lower-case letters, digits and dashes, with no dash at either end')
    .optional()
    .describe('Agents of this region come here first.'),
  weight: z
    .int()
    .min(1)
    .max(MAX_WEIGHT)
    .default(1)
    .describe('How often it is dialled, against others that are as good.'),
  state: z.enum(['active', 'draining']).default('active').describe('draining: agents leave it.'),
}) satisfies z.ZodType<NamedEndpoint>;
export type LinkEndpoint = z.infer<typeof LinkEndpoint>;

/** All of them, as the trust bundle of this version tells agents. */
export const EndpointSet = z.object({
  trustVersion: z.int().min(0),
  endpoints: z.array(LinkEndpoint).max(MAX_ENDPOINTS).describe('None: agents go by their import manifest.'),
  clusters: z.int().min(0).describe('Whose agent can come back by itself.'),
  clustersTold: z.int().min(0).describe('Of these, those whose agent said that it holds this version.'),
  revision: Revision.default('').describe('Of the list of endpoints.'),
});
export type EndpointSet = z.infer<typeof EndpointSet>;

/** `by`: who asked for it. */
export const PutEndpoint = LinkEndpoint.extend({ by: UserName, ...ifRevision });
export const RemoveEndpoint = z.object({ address: EndpointAddress, by: UserName, ...ifRevision });
