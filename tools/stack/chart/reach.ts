// Who may reach whom by the network policies that the chart renders, as Kubernetes reads them: https://kubernetes.io/docs/concepts/services-networking/network-policies/
import { BlockList } from 'node:net';
import { NAMESPACE, type Resource } from './render-chart.js';

/** A pod, or an address that is none. */
export interface Place {
  readonly namespace?: string;
  readonly labels: Readonly<Record<string, string>>;
  /** IPv4. */
  readonly address: string;
}

interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly { readonly key: string; readonly operator: string; readonly values: string[] }[];
}

interface Peer {
  readonly podSelector?: Selector;
  readonly namespaceSelector?: Selector;
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
}

interface Rule {
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
  readonly ports?: readonly { readonly port: number; readonly protocol?: string }[];
}

interface PolicySpec {
  readonly podSelector: Selector;
  readonly policyTypes: readonly string[];
  readonly ingress?: readonly Rule[];
  readonly egress?: readonly Rule[];
}

/** Whether both ends let a TCP connection through: the egress of `from`, and the ingress of `to`. */
export function mayReach(resources: readonly Resource[], from: Place, to: Place, port: number): boolean {
  const policies = resources
    .filter(({ kind }) => kind === 'NetworkPolicy')
    .map(({ spec }) => spec as unknown as PolicySpec);
  return lets(policies, 'Egress', from, to, port) && lets(policies, 'Ingress', to, from, port);
}

function lets(
  policies: readonly PolicySpec[],
  type: 'Ingress' | 'Egress',
  at: Place,
  other: Place,
  port: number,
): boolean {
  const selecting = policies.filter(
    ({ podSelector, policyTypes }) =>
      at.namespace === NAMESPACE && policyTypes.includes(type) && selects(podSelector, at.labels),
  );
  // Whom no policy selects is not isolated.
  if (selecting.length === 0) return true;
  const rules = selecting.flatMap((policy) => (type === 'Egress' ? policy.egress : policy.ingress) ?? []);
  return rules.some((rule) => {
    const peers = rule.from ?? rule.to;
    const ofPort = rule.ports?.some((each) => each.port === port && (each.protocol ?? 'TCP') === 'TCP') ?? true;
    return ofPort && (peers === undefined || peers.length === 0 || peers.some((peer) => isPeer(peer, other)));
  });
}

function isPeer({ ipBlock, namespaceSelector, podSelector }: Peer, { namespace, labels, address }: Place): boolean {
  if (ipBlock) return inside(ipBlock.cidr, address) && !ipBlock.except?.some((cidr) => inside(cidr, address));
  if (namespace === undefined) return false;
  const spaceFits = namespaceSelector
    ? selects(namespaceSelector, { 'kubernetes.io/metadata.name': namespace })
    : namespace === NAMESPACE;
  return spaceFits && selects(podSelector ?? {}, labels);
}

function selects({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Place['labels']): boolean {
  const expressed = matchExpressions.every(({ key, operator, values }) => {
    if (operator !== 'In') throw new Error(`the chart has no ${operator} in its selectors: read it here first`);
    return values.includes(labels[key] ?? '');
  });
  return expressed && Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
}

function inside(cidr: string, address: string): boolean {
  const [network = '', bits] = cidr.split('/');
  const list = new BlockList();
  list.addSubnet(network, Number(bits));
  return list.check(address);
}
