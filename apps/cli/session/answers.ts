import { z } from 'zod';

// Only what this command shows, so that an older command understands a newer server. `-o json` prints the answer whole.

export const Whoami = z.looseObject({ user: z.string(), groups: z.array(z.string()), tenantId: z.string() });
export type Whoami = z.infer<typeof Whoami>;

export const Cluster = z.looseObject({
  id: z.string(),
  name: z.string(),
  labels: z.record(z.string(), z.string()),
  links: z.number(),
  createdAt: z.string(),
  enrolledAt: z.string().nullable(),
  presence: z.looseObject({ state: z.string(), replicas: z.array(z.string()), since: z.string().nullable() }),
});
export type Cluster = z.infer<typeof Cluster>;
export const ClusterList = z.looseObject({ clusters: z.array(Cluster), next: z.string().optional() });

export const ImportLink = z.looseObject({ url: z.url(), expiresAt: z.string() });

export const ClusterAccess = z.looseObject({
  cluster: z.looseObject({ name: z.string() }),
  doors: z.array(z.looseObject({ name: z.string(), url: z.url() })),
  certificateAuthority: z.string().startsWith('-----BEGIN CERTIFICATE-----'),
});
export type ClusterAccess = z.infer<typeof ClusterAccess>;
