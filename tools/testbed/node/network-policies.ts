import { createHash } from 'node:crypto';
import type {
  KubectlPod,
  NamespaceObject,
  Peer,
  Policy,
  PolicyPort,
  PolicyRule,
  Selector,
} from './network-policy-objects.js';

/** What there is in a cluster. */
export interface PolicyWorld {
  readonly namespaces: readonly NamespaceObject[];
  readonly pods: readonly KubectlPod[];
  readonly policies: readonly Policy[];
}

type Direction = 'Ingress' | 'Egress';

const DIRECTIONS = ['Egress', 'Ingress'] as const;
const FLAGS = { Ingress: '-s', Egress: '-d' } as const;

/**
 * NetworkPolicies of networking.k8s.io/v1 as what `iptables-restore --noflush` takes: IPv4, ports by number or none, names of ports where somebody is let in, ipBlock with except. What the node itself
 * sends (probes) is let in, and answers on connections that stand. Chains that are there and of no use any more are emptied.
 */
export function policyRules(
  world: PolicyWorld,
  known: ReadonlySet<string>,
): { readonly text: string; readonly chains: Set<string> } {
  const chains = new Map<string, readonly string[]>();
  const jumps: string[] = [];
  for (const pod of world.pods.filter(isLive)) {
    for (const direction of DIRECTIONS) {
      const rules = rulesOf(world, pod, direction);
      if (rules === undefined) continue;
      const chain = `NP-${direction[0]}-${createHash('sha256').update(pod.metadata.uid).digest('hex').slice(0, 12)}`;
      chains.set(chain, [...rules, '-j DROP']);
      jumps.push(`-A NETPOL ${direction === 'Ingress' ? '-d' : '-s'} ${pod.status.podIP}/32 -j ${chain}`);
    }
  }
  const all = new Set([...known, ...chains.keys()]);
  const lines = [
    ':NETPOL - [0:0]',
    ...[...all].map((chain) => `:${chain} - [0:0]`),
    '-A NETPOL -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN',
    ...jumps,
    ...[...chains].flatMap(([chain, rules]) => rules.map((rule) => `-A ${chain} ${rule}`)),
  ];
  return { text: `*filter\n${lines.join('\n')}\nCOMMIT\n`, chains: all };
}

/** Undefined: no policy is for it, and everything passes. */
function rulesOf(world: PolicyWorld, pod: KubectlPod, direction: Direction): string[] | undefined {
  const applying = world.policies.filter(
    ({ metadata, spec }) =>
      metadata.namespace === pod.metadata.namespace &&
      spec.policyTypes.includes(direction) &&
      selects(spec.podSelector, pod.metadata.labels),
  );
  if (applying.length === 0) return undefined;
  const rules = applying.flatMap((policy) => {
    const ofDirection: readonly PolicyRule[] =
      (direction === 'Ingress' ? policy.spec.ingress : policy.spec.egress) ?? [];
    return ofDirection.flatMap((rule) => linesOf(world, policy, rule, direction, pod));
  });
  return [...new Set(rules)];
}

function linesOf(
  world: PolicyWorld,
  policy: Policy,
  rule: PolicyRule,
  direction: Direction,
  pod: KubectlPod,
): string[] {
  const peers = (direction === 'Ingress' ? rule.from : rule.to) ?? [];
  const blocks = peers.length === 0 ? ['0.0.0.0/0'] : peers.flatMap((peer) => blocksOf(world, policy, peer));
  const named = rule.ports ?? [];
  const ports = named.length === 0 ? [''] : named.flatMap((port) => matchesOf(port, pod));
  return blocks.flatMap((block) => ports.map((port) => `${FLAGS[direction]} ${block}${port} -j RETURN`));
}

/** None for a name that the pod has no port of. */
function matchesOf({ protocol = 'TCP', port }: PolicyPort, { spec }: KubectlPod): string[] {
  const name = protocol.toLowerCase();
  if (port === undefined) return [` -p ${name}`];
  const named = (spec.containers ?? []).flatMap(({ ports = [] }) => ports).filter((each) => each.name === port);
  const numbers = typeof port === 'number' ? [port] : named.map(({ containerPort }) => containerPort);
  return numbers.map((number) => ` -p ${name} -m ${name} --dport ${number}`);
}

function blocksOf(world: PolicyWorld, policy: Policy, { ipBlock, namespaceSelector, podSelector }: Peer): string[] {
  if (ipBlock) return without(ipBlock.cidr, ipBlock.except ?? []);
  const spaces = namespaceSelector
    ? world.namespaces
        .filter(({ metadata }) => selects(namespaceSelector, metadata.labels))
        .map(({ metadata }) => metadata.name)
    : [policy.metadata.namespace];
  return world.pods
    .filter(isLive)
    .filter(({ metadata }) => spaces.includes(metadata.namespace) && selects(podSelector ?? {}, metadata.labels))
    .map(({ status }) => `${status.podIP}/32`);
}

function isLive({ spec, status }: KubectlPod): boolean {
  return status.podIP !== undefined && spec.hostNetwork !== true && !['Succeeded', 'Failed'].includes(status.phase);
}

function selects(
  { matchLabels = {}, matchExpressions = [] }: Selector,
  labels: Readonly<Record<string, string>> = {},
): boolean {
  const labelled = Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
  return (
    labelled &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const has = Object.hasOwn(labels, key);
      const isOneOf = has && values.includes(labels[key] ?? '');
      if (operator === 'In') return isOneOf;
      if (operator === 'NotIn') return !isOneOf;
      return (operator === 'Exists') === has;
    })
  );
}

interface Range {
  readonly from: number;
  readonly size: number;
}

/** The block without those in `except`, as blocks. */
function without(cidr: string, except: readonly string[]): string[] {
  const { from, size } = rangeOf(cidr);
  const within = except.map(rangeOf).filter((each) => each.from < from + size && from < each.from + each.size);
  if (within.length === 0) return [`${dotted(from)}/${32 - Math.log2(size)}`];
  if (within.some((each) => each.from <= from && from + size <= each.from + each.size)) return [];
  const bits = 33 - Math.log2(size);
  return [`${dotted(from)}/${bits}`, `${dotted(from + size / 2)}/${bits}`].flatMap((half) => without(half, except));
}

function rangeOf(cidr: string): Range {
  const [address = '', bits] = cidr.split('/');
  const size = 2 ** (32 - Number(bits));
  const number = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  return { from: Math.floor(number / size) * size, size };
}

function dotted(number: number): string {
  return [24, 16, 8, 0].map((bits) => Math.floor(number / 2 ** bits) % 256).join('.');
}
