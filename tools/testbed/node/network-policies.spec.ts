import { expect, it } from 'vitest';
import { policyRules } from './network-policies.js';
import type { KubectlPod, Policy } from './network-policy-objects.js';

const namespaces = [{ kind: 'Namespace' as const, metadata: { name: 'one', labels: { name: 'one' } } }];

const pod = (app: string, podIP: string, phase = 'Running'): KubectlPod => ({
  kind: 'Pod',
  metadata: { uid: app, namespace: 'one', labels: { app } },
  spec: { containers: [{ ports: [{ name: 'health', containerPort: 8080 }] }] },
  status: { podIP, phase },
});

const policy = (spec: Policy['spec']): Policy => ({ kind: 'NetworkPolicy', metadata: { namespace: 'one' }, spec });

const linesOf = (policies: readonly Policy[]): string[] => {
  const pods = [pod('web', '10.0.0.1'), pod('client', '10.0.0.2'), pod('gone', '10.0.0.3', 'Succeeded')];
  const { text } = policyRules({ namespaces, pods, policies }, new Set(['NP-I-old']));
  return text.split('\n').map((line) => line.replaceAll(/NP-([IE])-[0-9a-f]{12}/g, 'NP-$1'));
};

it('lets in whom a rule selects, at its port, and drops everybody else', () => {
  const lines = linesOf([
    policy({
      podSelector: { matchLabels: { app: 'web' } },
      policyTypes: ['Ingress'],
      ingress: [
        {
          from: [{ podSelector: { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['web'] }] } }],
          ports: [{ port: 80 }],
        },
      ],
    }),
  ]);
  expect(lines.filter((line) => line.startsWith('-A NP'))).toEqual([
    '-A NP-I -s 10.0.0.2/32 -p tcp -m tcp --dport 80 -j RETURN',
    '-A NP-I -j DROP',
  ]);
  expect(lines).toContain('-A NETPOL -d 10.0.0.1/32 -j NP-I');
  expect(lines).toContain(':NP-I-old - [0:0]');
});

it('lets out to a block but for what is excepted', () => {
  const egress = [{ to: [{ ipBlock: { cidr: '10.0.0.0/30', except: ['10.0.0.1/32'] } }] }];
  const lines = linesOf([policy({ podSelector: {}, policyTypes: ['Egress'], egress })]);
  expect(new Set(lines.filter((line) => line.startsWith('-A NP-E')))).toEqual(
    new Set(['10.0.0.0/32', '10.0.0.2/31'].map((block) => `-A NP-E -d ${block} -j RETURN`).concat('-A NP-E -j DROP')),
  );
  expect(lines.filter((line) => line.startsWith('-A NETPOL -s'))).toHaveLength(2);
});

it('takes a port by its name, and a protocol without one', () => {
  const spec = { podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Ingress', 'Egress'] };
  const ingress = [{ ports: [{ protocol: 'TCP', port: 'health' }, { port: 'none' }] }];
  const egress = [{ ports: [{ protocol: 'UDP', port: 53 }] }, { ports: [{ protocol: 'TCP' }] }];
  expect(linesOf([policy({ ...spec, ingress, egress })]).filter((line) => line.startsWith('-A NP'))).toEqual([
    '-A NP-E -d 0.0.0.0/0 -p udp -m udp --dport 53 -j RETURN',
    '-A NP-E -d 0.0.0.0/0 -p tcp -j RETURN',
    '-A NP-E -j DROP',
    '-A NP-I -s 0.0.0.0/0 -p tcp -m tcp --dport 8080 -j RETURN',
    '-A NP-I -j DROP',
  ]);
});

it('leaves a pod that no policy selects alone', () => {
  expect(linesOf([]).filter((line) => line.startsWith('-A NETPOL'))).toEqual([
    '-A NETPOL -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN',
  ]);
});
