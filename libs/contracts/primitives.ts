import { z } from 'zod';

/** One token of a NATS subject or KV key, and a DNS label: no dots, no wildcards. */
const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

export const TenantId = z.string().regex(label, 'a tenant id is a DNS label');
/** The tenant of an installation that has only one. */
export const DEFAULT_TENANT = 'default';
/** The tenant token of a subject that belongs to none. */
export const NO_TENANT = '_';

export const ClusterId = z.uuid();
export const ClusterName = z
  .string()
  .regex(label, 'a cluster name is 1 to 63 lower-case letters, digits and dashes, with no dash at either end');
export const Labels = z
  .record(z.string().min(1).max(63), z.string().max(63))
  .refine((labels) => Object.keys(labels).length <= 32, 'at most 32 labels');
/** Counts a cluster's enrolments; only a higher one fences a lower one. */
export const Generation = z
  .int()
  .min(0)
  .max(2 ** 31 - 1);
export const Pem = z.string().max(16_384).startsWith('-----BEGIN ');
/** Leaf first; at most leaf, two intermediates and a root. */
export const PemChain = z.array(Pem).min(1).max(4);
/** Of a certificate, as it carries it. */
export const Serial = z.string().regex(/^([0-9a-f]{2}){1,20}$/, 'a serial number is 1 to 20 bytes in lower-case hex');
/** Why somebody revoked something; it is shown, and kept in events. */
export const RevocationReason = z.string().min(1).max(256);
export const Base64 = z.base64().max(16_384);
export const IsoTime = z.iso.datetime();
/** A name that a NATS credential carries: one subject token. */
export const CredentialName = z.string().regex(label);

/** Who somebody is in a cluster; also how the API names a person to other services. */
export const UserName = z.string().min(1).max(256);

/** Kubernetes user, groups: what a grant gives. */
export const KubeIdentity = z.object({
  user: UserName,
  groups: z.array(z.string().min(1).max(256)).max(64),
});
export type KubeIdentity = z.infer<typeof KubeIdentity>;

/**
 * What an agent may open for raw TCP: `<CIDR or host pattern>:<port, range or *>`, such as `10.0.0.0/8:10250`,
 * `*.shop.svc:443`, `[fd00::/8]:1-1024`. libs/targets parses and enforces it; here only what no rule can be is refused.
 */
export const TargetRule = z
  .string()
  .min(3)
  .max(300)
  // Without commas and blanks: rules travel to the agent in one comma-separated variable.
  .regex(
    /^[^\s,]+:(\*|\d{1,5}(-\d{1,5})?)$/,
    'write a target as HOST:PORT, such as 10.0.0.0/8:10250 or *.shop.svc:443',
  );
export const TargetRules = z.array(TargetRule).max(64);
/** A program that comes to the CONNECT door with a certificate. */
export const ClientName = z.string().regex(label, 'a client name is 1 to 63 lower-case letters, digits and dashes');
