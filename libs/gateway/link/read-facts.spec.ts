import { create } from '@bufbuild/protobuf';
import { Facts } from '@fairlead/contracts';
import { AgentPodSchema, FactsSchema } from '@fairlead/proto';
import { expect, it } from 'vitest';
import { readFacts, readPod } from './read-facts.js';

const well = {
  agentVersion: '0.1.0',
  kubernetesVersion: 'v1.31.4+k3s1',
  platform: 'linux/x64',
  distribution: 'k3s',
  provider: 'aws',
  nodes: { total: 3, ready: 2 },
  capabilities: ['rbac:list-nodes'],
};
const NOTHING = {
  agentVersion: '',
  kubernetesVersion: '',
  platform: '',
  distribution: '',
  provider: '',
  nodes: null,
  capabilities: [],
};

it('takes what an agent says', () => {
  expect(readFacts(create(FactsSchema, well))).toEqual(well);
});

it('takes an agent that is older than most fields, and one that says nothing', () => {
  const { agentVersion, kubernetesVersion, platform } = well;
  const old = { agentVersion, kubernetesVersion, platform };
  expect(readFacts(create(FactsSchema, old))).toEqual({ ...NOTHING, ...old });
  expect(readFacts(undefined)).toEqual(NOTHING);
});

it.each([
  ['distribution', { distribution: 'x'.repeat(33) }, { distribution: '' }],
  ['distribution', { distribution: '\u001b[2Jk3s' }, { distribution: '' }],
  ['provider', { provider: 'A W S' }, { provider: '' }],
  ['nodes', { nodes: { total: 2, ready: 3 } }, { nodes: null }],
  ['nodes', { nodes: { total: 4_000_000_000, ready: 0 } }, { nodes: null }],
  ['capabilities', { capabilities: Array.from({ length: 5_000 }, (_, at) => `c${at}`) }, { capabilities: [] }],
  ['capabilities', { capabilities: ['x'.repeat(49)] }, { capabilities: [] }],
  ['agentVersion', { agentVersion: 'v'.repeat(100_000) }, { agentVersion: 'v'.repeat(64) }],
  ['kubernetesVersion', { kubernetesVersion: '\u001b[2Jv1\n\u202e' }, { kubernetesVersion: '[2Jv1' }],
] as const)('a bad %s costs nothing else', (_, wrong, expected) => {
  const read = readFacts(create(FactsSchema, { ...well, ...wrong } as never));
  expect(read).toEqual({ ...well, ...expected });
  // What goes on from here is taken by registration as it is.
  expect(Facts.parse(read)).toEqual(read);
});

const pod = { clusterUid: '0a-1B', name: 'fairlead-agent-7d4b9-x2x', uid: 'ab-12', node: 'node-1', replicas: 2 };

it('takes where an agent says that it runs, or nothing of it', () => {
  const said = (change: Partial<typeof pod>) =>
    readPod(create(FactsSchema, { ...well, pod: create(AgentPodSchema, { ...pod, ...change }) }));
  expect(said({})).toEqual(pod);
  expect(said({ node: '' })).toEqual({ ...pod, node: '' });
  for (const bad of [
    { name: '' },
    { name: '\u001b[2J' },
    { name: 'a'.repeat(254) },
    { node: 'node 1' },
    { uid: '' },
    { clusterUid: '' },
    { clusterUid: 'x'.repeat(65) },
    { replicas: 4_000_000_000 },
  ]) {
    expect(said(bad)).toBeNull();
  }
  expect(readPod(create(FactsSchema, well))).toBeNull();
  expect(readPod(undefined)).toBeNull();
});
