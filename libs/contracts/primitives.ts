import { z } from 'zod';
import { LabelValue, QualifiedName } from './kubernetes-names.js';

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
/** In one list of names of clusters, of which another service is then asked. */
export const MAX_CLUSTER_NAMES = 1_000;
/** More than anything has; also those that were set when less was asked of them. */
const MAX_LABELS = 32;
const TOO_MANY = `at most ${MAX_LABELS} labels`;
export const Labels = z
  .record(z.string().min(1).max(317), z.string().max(63))
  .refine((labels) => Object.keys(labels).length <= MAX_LABELS, TOO_MANY);
/** By Kubernetes' rules. */
export const NewLabels = z
  .record(QualifiedName, LabelValue)
  .refine((labels) => Object.keys(labels).length <= MAX_LABELS, TOO_MANY);
/** What is left out stays; null takes a label away. */
export const LabelChanges = z
  .record(QualifiedName, LabelValue.nullable())
  .refine((labels) => Object.keys(labels).length <= MAX_LABELS, TOO_MANY);
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
/** There is no year 0 in Postgres. */
export const IsoTime = z.iso.datetime().refine((time) => !time.startsWith('0000'), 'there is no year 0');
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
/**
 * A port where a cluster's agent listens, and the upstream that a gateway is asked for: `2222=git.example.com:22`. A gateway opens it
 * only if its own rules allow that. Below 1024 a process without privileges may not listen; 8080 is for probes.
 */
export const EgressPort = z
  .string()
  .max(300)
  .regex(
    /^(102[4-9]|10[3-9]\d|1[1-9]\d\d|[2-9]\d{3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])=(([a-z0-9_-]{1,63}\.)*[a-z][a-z0-9-]{0,62}|\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]{2,45}\]):([1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])$/,
    'write a way out as PORT=HOST:PORT with a first port of at least 1024, such as 2222=git.example.com:22',
  )
  .refine((text) => !text.startsWith('8080='), 'port 8080 of an agent is taken: choose another');
export const EgressPorts = z
  .array(EgressPort)
  .max(16)
  .refine(
    (all) => new Set(all.map((each) => each.split('=')[0])).size === all.length,
    'each port can lead to one place',
  );
/** YAML; with as many targets, ports and values as a cluster may have, some 70,000 characters. */
export const Manifest = z.string().max(131_072);
/** A program that comes to the CONNECT door with a certificate. */
export const ClientName = z.string().regex(label, 'a client name is 1 to 63 lower-case letters, digits and dashes');
