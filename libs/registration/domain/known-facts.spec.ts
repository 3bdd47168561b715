import { Facts } from '@fairlead/contracts';
import { describe, expect, it } from 'vitest';
import { differs, knownFacts, saidAtEnrolment } from './known-facts.js';

const old = { agentVersion: '0.1.0', kubernetesVersion: 'v1.34.4', platform: 'linux/x64' };
const full = Facts.parse({
  ...old,
  distribution: 'k3s',
  provider: 'aws',
  nodes: { total: 3, ready: 2 },
  capabilities: ['link:facts', 'rbac:list-nodes'],
});

describe('what an agent says', () => {
  it('has a word for everything, whatever the agent or an earlier release left out', () => {
    expect(knownFacts(old)).toEqual({ ...old, distribution: '', provider: '', nodes: null, capabilities: [] });
    expect(knownFacts(full)).toEqual(full);
  });

  it('differs from what is known by its contents, not by the order of fields', () => {
    const reordered = Object.fromEntries(Object.entries(full).toReversed()) as typeof full;
    expect(differs(reordered, full)).toBe(false);
    expect(differs(old, knownFacts(old))).toBe(false);
    expect([differs(null, full), differs(old, full)]).toEqual([true, true]);
    expect(differs(full, { ...full, nodes: { total: 3, ready: 3 } })).toBe(true);
    expect(differs(full, { ...full, nodes: null })).toBe(true);
  });

  it('is in the event of an enrolment if it is new', () => {
    const { agentVersion, kubernetesVersion } = full;
    expect(saidAtEnrolment(full, full)).toEqual({ agentVersion, kubernetesVersion });
    expect(saidAtEnrolment(null, old)).toEqual({ agentVersion, kubernetesVersion: 'v1.34.4', facts: knownFacts(old) });
  });

  it.each([
    ['a word that moves the cursor', { distribution: '\u001b[2J' }],
    ['a long word', { provider: 'x'.repeat(33) }],
    ['more nodes ready than there are', { nodes: { total: 1, ready: 2 } }],
    ['less than no nodes', { nodes: { total: -1, ready: -1 } }],
    ['half a node', { nodes: { total: 1.5, ready: 1 } }],
    ['more nodes than any cluster has', { nodes: { total: 5_000_000, ready: 1 } }],
    ['too many capabilities', { capabilities: Array.from({ length: 25 }, (_, index) => `c${index}`) }],
    ['an empty capability', { capabilities: [''] }],
    ['a long version', { kubernetesVersion: 'v'.repeat(65) }],
  ])('is refused with %s', (_, wrong) => {
    expect(Facts.safeParse({ ...old, ...wrong }).success).toBe(false);
  });
});
