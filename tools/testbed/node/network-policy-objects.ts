export interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
    readonly values?: readonly string[];
  }[];
}

export interface Peer {
  readonly podSelector?: Selector;
  readonly namespaceSelector?: Selector;
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
}

export interface PolicyRule {
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
  readonly ports?: readonly PolicyPort[];
}

/** Without a port: all of them. A name is one of the pod's own. */
export interface PolicyPort {
  readonly protocol?: string;
  readonly port?: number | string;
}

export interface Policy {
  readonly kind: 'NetworkPolicy';
  readonly metadata: { readonly namespace: string };
  readonly spec: {
    readonly podSelector: Selector;
    readonly policyTypes: readonly string[];
    readonly ingress?: readonly PolicyRule[];
    readonly egress?: readonly PolicyRule[];
  };
}

export interface KubectlPod {
  readonly kind: 'Pod';
  readonly metadata: {
    readonly uid: string;
    readonly namespace: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly hostNetwork?: boolean;
    readonly containers?: readonly {
      readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
    }[];
  };
  readonly status: { readonly podIP?: string; readonly phase: string };
}

export interface NamespaceObject {
  readonly kind: 'Namespace';
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
}
