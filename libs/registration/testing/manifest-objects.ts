import { parseAllDocuments } from 'yaml';

type Names = Readonly<Record<string, string>>;

/** As far as tests look into it. */
export interface ManifestObject {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Names;
    readonly annotations?: Names;
  };
}

export interface DeploymentObject extends ManifestObject {
  readonly spec: {
    readonly selector: { readonly matchLabels: Names };
    readonly strategy: object;
    readonly template: PodTemplate;
  };
}

interface PodTemplate {
  readonly metadata: { readonly labels: Names; readonly annotations?: Names };
  readonly spec: {
    readonly securityContext: object;
    readonly volumes?: readonly object[];
    readonly hostNetwork?: boolean;
    readonly containers: readonly [ContainerObject];
  };
}

interface ContainerObject {
  readonly image: string;
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly ports?: readonly { readonly containerPort: number }[];
  readonly volumeMounts?: readonly object[];
  readonly securityContext: object;
  readonly resources: { readonly limits: Names };
}

export interface NetworkPolicyObject extends ManifestObject {
  readonly spec: {
    readonly podSelector: { readonly matchLabels: Names };
    readonly policyTypes: readonly string[];
    readonly ingress: readonly PolicyRule[];
    readonly egress: readonly PolicyRule[];
  };
}

interface PolicyRule {
  readonly from?: readonly object[];
  readonly ports: readonly { readonly port: number; readonly protocol?: string }[];
}

/** The objects of a manifest, in its order, whatever they are. */
export function objectsOf(manifest: string): ManifestObject[] {
  return parseAllDocuments(manifest).map((document) => document.toJS() as ManifestObject);
}

/** The one of this kind and name, or the first of the kind. Throws if there is none. */
export function objectIn<Kind extends keyof Kinds>(manifest: string, kind: Kind, name?: string): Kinds[Kind] {
  const found = objectsOf(manifest).find(
    (each) => each.kind === kind && (name ?? each.metadata.name) === each.metadata.name,
  );
  if (!found) throw new Error(`the manifest has no ${kind} ${name ?? ''}`);
  return found as Kinds[Kind];
}

interface Kinds {
  Deployment: DeploymentObject;
  NetworkPolicy: NetworkPolicyObject;
  ClusterRole: ManifestObject & { readonly rules: readonly object[] };
  ConfigMap: ManifestObject;
  Secret: ManifestObject & { readonly data?: Names };
  Service: ManifestObject & { readonly spec: { readonly selector: Names } };
}
