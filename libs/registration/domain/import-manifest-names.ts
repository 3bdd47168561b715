import { ClusterRoleName, groupOfRole } from '@fairlead/access-rules';
import type { ManifestValues } from '@fairlead/contracts';

/** What a cluster needs to know to join. */
export interface ImportManifestInput {
  /** Null: whoever applies it asks to be adopted, as whatever cluster an administrator says. */
  readonly cluster: { readonly name: string; readonly id: string } | null;
  /** `host:port` of the agent links of all gateways. */
  readonly endpoints: readonly string[];
  /** Hex SHA-256 of the root SPKIs that a gateway's chain may end in. */
  readonly pins: readonly string[];
  readonly trustDomain: string;
  /** Replicas the agent keeps a link to. */
  readonly links: number;
  /** What it may open for raw TCP, as rules; none: nothing. */
  readonly targets: readonly string[];
  /** Ports that it opens for connections out of the cluster, `<port>=<host>:<port>`; none: none. */
  readonly egress: readonly string[];
  /** What the agent calls gateways in TLS; absent: what agents do by themselves. */
  readonly serverName?: string | undefined;
  /** Reference of the agent's container image. */
  readonly image: string;
  /** Where the agent sends its spans, by OTLP over HTTP; absent: nowhere. */
  readonly tracingEndpoint?: string | undefined;
  /**
   * `fl1.…`: spent by the first enrolment. The only secret in the manifest; null for an adoption, and for an identity
   * that was handed out, whose Secret whoever made its key adds.
   */
  readonly bootstrapToken: string | null;
  /** Null: without an installer. It needs to know its cluster. */
  readonly installer: { readonly image: string } | null;
  /** How its pods are to run; `{}`: as they do anywhere. */
  readonly values: ManifestValues;
}

/** What an installer needs to know: no secret. */
export interface InstallerManifestInput {
  readonly clusterId: string;
  readonly pins: readonly string[];
  readonly trustDomain: string;
  readonly image: string;
  readonly values: ManifestValues;
}

/** One document of the manifest, as plain data. */
export type KubernetesDocument = Readonly<Record<string, unknown>> & {
  readonly apiVersion: string;
  readonly kind: string;
};

export const AGENT = {
  defaultNamespace: 'fairlead-system',
  name: 'fairlead-agent',
  /** The distroless images' `nonroot`. */
  userId: 65_532,
  healthPort: 8_080,
} as const;

export const SECRETS = {
  /** The bootstrap token, under the key `token`, or an identity that was handed out, under `identity-bundle.json`. */
  bootstrap: 'fairlead-agent-bootstrap',
  /** The agent's key and certificate: it alone writes them. */
  identity: 'fairlead-agent-identity',
} as const;

/** The group that Fairlead's administrators arrive as. */
export const ADMIN_GROUP = 'fairlead:admins';

/** Each group that somebody with a grant arrives as, and Kubernetes' own ClusterRole that it is bound to. */
export const ROLE_GROUPS = ClusterRoleName.options.map((role) => ({ role, group: groupOfRole(role) }));

/** The pods of the Deployment, and nothing else. */
export const SELECTOR = { 'app.kubernetes.io/name': AGENT.name, 'app.kubernetes.io/component': 'agent' } as const;

export const LABELS = {
  ...SELECTOR,
  'app.kubernetes.io/part-of': 'fairlead',
  'app.kubernetes.io/managed-by': 'fairlead',
} as const;

/** What the GitOps tools dial, if the cluster has a way out. */
export const EGRESS_SERVICE = 'fairlead-egress';

export const INSTALLER = {
  name: 'fairlead-installer',
  /** Its pods. */
  selector: { 'app.kubernetes.io/name': 'fairlead-installer', 'app.kubernetes.io/component': 'installer' },
} as const;

export const INSTALLER_LABELS = { ...LABELS, ...INSTALLER.selector } as const;

/** Metadata of an object; without a namespace for cluster-wide kinds. */
export function metadata(
  name: string,
  namespace?: string,
  labels: Readonly<Record<string, string>> = LABELS,
): Record<string, unknown> {
  return { name, ...(namespace === undefined ? {} : { namespace }), labels };
}
