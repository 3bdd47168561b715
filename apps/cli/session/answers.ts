import { z } from 'zod';

// Only what this command shows, so that an older command understands a newer server. `-o json` prints the answer whole.

export const Whoami = z.looseObject({ user: z.string(), groups: z.array(z.string()), tenantId: z.string() });
export type Whoami = z.infer<typeof Whoami>;

/** What an agent says of its cluster. An older server passes on less of it. */
export const ClusterFacts = z.looseObject({
  agentVersion: z.string(),
  kubernetesVersion: z.string(),
  platform: z.string(),
  distribution: z.string().default(''),
  provider: z.string().default(''),
  nodes: z.looseObject({ total: z.number(), ready: z.number() }).nullable().default(null),
  capabilities: z.array(z.string()).default([]),
});
export type ClusterFacts = z.infer<typeof ClusterFacts>;

export const Cluster = z.looseObject({
  id: z.string(),
  name: z.string(),
  labels: z.record(z.string(), z.string()),
  links: z.number(),
  targets: z.array(z.string()).default([]),
  egress: z.array(z.string()).default([]),
  gitops: z.boolean().default(false),
  manifestValues: z.looseObject({ namespace: z.string().optional() }).default({}),
  createdAt: z.string(),
  enrolledAt: z.string().nullable(),
  generation: z.number().default(0),
  facts: ClusterFacts.nullable().default(null),
  presence: z.looseObject({
    state: z.string(),
    replicas: z.array(z.string()),
    liveReplicas: z.number().default(0),
    since: z.string().nullable(),
    agents: z
      .array(
        z.looseObject({
          instance: z.string(),
          addresses: z.array(z.string()),
          since: z.string(),
          version: z.string().default(''),
          pod: z.looseObject({ name: z.string() }).nullable().default(null),
        }),
      )
      .default([]),
    duplicate: z.string().nullable().default(null),
    lastError: z
      .looseObject({
        at: z.string(),
        code: z.string(),
        reason: z.string(),
        address: z.string(),
        replica: z.string(),
      })
      .nullable()
      .default(null),
  }),
});
export type Cluster = z.infer<typeof Cluster>;

/** Where its agent is. */
export function namespaceOf({ manifestValues }: Pick<Cluster, 'manifestValues'>): string {
  return manifestValues.namespace ?? 'fairlead-system';
}

export const EndpointSet = z.looseObject({
  trustVersion: z.number(),
  endpoints: z.array(
    z.looseObject({
      address: z.string(),
      state: z.string(),
      region: z.string().optional(),
      weight: z.number(),
      serverName: z.string().optional(),
    }),
  ),
  clusters: z.number(),
  clustersTold: z.number(),
  revision: z.string().optional(),
});
export type EndpointSet = z.infer<typeof EndpointSet>;

export const ClusterList = z.looseObject({ clusters: z.array(Cluster), next: z.string().optional() });

export const ImportLink = z.looseObject({ url: z.url(), expiresAt: z.string() });

export const ClusterAccess = z.looseObject({
  cluster: z.looseObject({ name: z.string() }),
  doors: z.array(z.looseObject({ name: z.string(), url: z.url(), byName: z.url().optional() })),
  certificateAuthority: z.string().startsWith('-----BEGIN CERTIFICATE-----'),
});
export type ClusterAccess = z.infer<typeof ClusterAccess>;

export const EnrolmentRequest = z.looseObject({
  id: z.string(),
  state: z.string(),
  fingerprint: z.string(),
  cluster: z.string().nullable(),
  facts: ClusterFacts,
  remoteAddress: z.string(),
  createdAt: z.string(),
  reason: z.string().nullable(),
});
export type EnrolmentRequest = z.infer<typeof EnrolmentRequest>;
export const EnrolmentRequestList = z.looseObject({
  requests: z.array(EnrolmentRequest),
  next: z.string().optional(),
});
export const ShownPolicy = z.looseObject({ set: z.string().nullable(), effective: z.string() });

export const CertificateRecord = z.looseObject({
  serial: z.string(),
  purpose: z.string(),
  names: z.array(z.string()).default([]),
  generation: z.number().nullable(),
  notBefore: z.string(),
  notAfter: z.string(),
  revokedAt: z.string().nullable(),
  revokedFor: z.string().nullable(),
});
export type CertificateRecord = z.infer<typeof CertificateRecord>;
export const CertificateList = z.looseObject({ certificates: z.array(CertificateRecord), next: z.string().optional() });

export const GatewayRevoked = z.looseObject({ revoked: z.number(), more: z.boolean() });

export const CertificateAuthority = z.looseObject({
  trustVersion: z.number(),
  authorities: z.array(
    z.looseObject({
      tree: z.string(),
      role: z.string(),
      state: z.string(),
      notAfter: z.string(),
      key: z.string(),
      pin: z.string(),
      subject: z.string(),
    }),
  ),
  rotation: z
    .looseObject({
      step: z.string(),
      since: z.string(),
      clusters: z.number(),
      clustersDone: z.number(),
      waitingFor: z.array(
        z.looseObject({
          clusterId: z.string(),
          name: z.string().nullable(),
          heldVersion: z.number(),
          waitedUntil: z.string(),
        }),
      ),
      gateways: z.array(z.looseObject({ credential: z.string(), heldVersion: z.number() })),
      otherCertificates: z.number(),
      otherCertificatesUntil: z.string().nullable(),
    })
    .nullable(),
});
export type CertificateAuthority = z.infer<typeof CertificateAuthority>;
export const BootstrapToken = z.looseObject({
  id: z.string(),
  state: z.string(),
  createdAt: z.string(),
  expiresAt: z.string(),
  revokedAt: z.string().nullable(),
  usedBy: z.looseObject({ fingerprint: z.string(), generation: z.number() }).nullable(),
});
export type BootstrapToken = z.infer<typeof BootstrapToken>;
export const BootstrapTokenList = z.looseObject({ tokens: z.array(BootstrapToken), next: z.string().optional() });

const pem = z.string().startsWith('-----BEGIN CERTIFICATE-----');

const quota = z.number().nullable();
export const Tenant = z.looseObject({
  name: z.string(),
  quotas: z.looseObject({ clusters: quota, clients: quota, apiTokens: quota, grants: quota }),
  createdAt: z.string(),
  clusters: z.number(),
  clients: z.number(),
  revision: z.string().optional(),
});
export type Tenant = z.infer<typeof Tenant>;
export const TenantList = z.looseObject({ tenants: z.array(Tenant), next: z.string().optional() });

export const Client = z.looseObject({
  id: z.string(),
  name: z.string(),
  /** Null: all there are. */
  clusters: z.array(z.string()).nullable(),
  createdAt: z.string(),
  notAfter: z.string().nullable(),
});
export type Client = z.infer<typeof Client>;
export const ClientList = z.looseObject({ clients: z.array(Client), next: z.string().optional() });

export const CertifiedClient = z.looseObject({
  client: Client,
  chain: z.array(pem).min(1),
  doors: z.array(z.looseObject({ name: z.string(), url: z.url() })),
  certificateAuthority: pem,
});
export type CertifiedClient = z.infer<typeof CertifiedClient>;

export const IssuedIdentity = z.looseObject({
  cluster: z.string(),
  clusterId: z.string(),
  generation: z.number(),
  trustDomain: z.string(),
  endpoints: z.array(z.string()),
  chain: z.array(pem).min(1),
  roots: z.array(pem).min(1),
  notAfter: z.string(),
  manifest: z.string(),
});
export type IssuedIdentity = z.infer<typeof IssuedIdentity>;

/** Where people log in. */
export const LoginOption = z.looseObject({
  name: z.string().min(1).max(63),
  url: z.url({ protocol: /^https?$/ }).max(512),
  clientId: z.string().min(1).max(256),
  scopes: z.array(z.string().min(1).max(64)).max(16),
  /** Whether a login by device code is taken. */
  deviceCode: z.boolean().default(false),
  certificateAuthority: z.string().nullable().default(null),
});
export type LoginOption = z.infer<typeof LoginOption>;
export const LoginOptions = z.looseObject({ issuers: z.array(LoginOption).max(32) });

/** A short token of ours; the session comes with the first one, and stays when it is renewed. */
export const LoginSecrets = z.looseObject({
  token: z.string().min(1).max(512),
  expiresAt: z.iso.datetime(),
  user: z.string(),
  session: z.string().min(1).max(512).nullable(),
  sessionEndsAt: z.iso.datetime().nullable(),
});
export type LoginSecrets = z.infer<typeof LoginSecrets>;
