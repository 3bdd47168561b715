import type { ClusterEntry } from '@fairlead/contracts';
import { describe, expect, it } from 'vitest';
import { EgressPolicies, parseEgressRule } from './egress-rules.js';

const cluster = (name: string, labels: Record<string, string> = {}): ClusterEntry => ({
  tenantId: 'default',
  clusterId: '00000000-0000-4000-8000-000000000001',
  name,
  generation: 1,
  labels,
});
const policyOf = (rules: readonly string[], of: ClusterEntry) => new EgressPolicies(rules.map(parseEgressRule)).of(of);

describe('who may reach what', () => {
  it('is nothing without a rule', () => {
    const policy = policyOf([], cluster('demo'));
    expect(policy.allowsName('git.example.com', 22)).toBe(false);
    expect(policy.allowsAddress('192.0.2.1', 22)).toBe(false);
  });

  it.each([
    ['git.example.com:22', 'demo', {}, true],
    ['demo@git.example.com:22', 'demo', {}, true],
    ['demo@git.example.com:22', 'other', {}, false],
    ['demo@git.example.com:22', 'demo-2', {}, false],
    ['region=eu@git.example.com:22', 'demo', { region: 'eu' }, true],
    ['region=eu@git.example.com:22', 'demo', { region: 'us' }, false],
    ['region=eu@git.example.com:22', 'demo', {}, false],
    ['region=@git.example.com:22', 'demo', { region: '' }, true],
    ['toString=x@git.example.com:22', 'demo', {}, false],
  ] as const)('%s, asked by %s with %o: %s', (rule, name, labels, allowed) => {
    expect(policyOf([rule], cluster(name, labels)).allowsName('git.example.com', 22)).toBe(allowed);
  });

  it.each([
    ['git.example.com:22', 'acme', true],
    ['demo@git.example.com:22', 'default', true],
    ['demo@git.example.com:22', 'acme', false],
    ['region=eu@git.example.com:22', 'acme', false],
    ['acme:region=eu@git.example.com:22', 'acme', true],
    ['acme:region=eu@git.example.com:22', 'default', false],
    ['acme:demo@git.example.com:22', 'acme', true],
    ['acme:other@git.example.com:22', 'acme', false],
    ['acme:*@git.example.com:22', 'acme', true],
    ['*@git.example.com:22', 'default', true],
    ['*@git.example.com:22', 'acme', false],
  ])('%s, asked by a cluster of the tenant %s: %s', (rule, tenantId, allowed) => {
    const asking = { ...cluster('demo', { region: 'eu' }), tenantId };
    expect(policyOf([rule], asking).allowsName('git.example.com', 22)).toBe(allowed);
  });

  it.each([
    ':demo@git.example.com:22',
    'A B:demo@git.example.com:22',
    'acme:@git.example.com:22',
    '_:*@git.example.com:22',
  ])('is not read of %s', (rule) =>
    expect(() => parseEgressRule(rule)).toThrow('begins with no name or label of clusters'),
  );

  it('is no other port, and no other name', () => {
    const policy = policyOf(['git.example.com:22'], cluster('demo'));
    expect(policy.allowsName('git.example.com', 443)).toBe(false);
    expect(policy.allowsName('git.example.com.evil.test', 22)).toBe(false);
    expect(policy.allowsAddress('192.0.2.1', 22)).toBe(false);
    expect(policy.allowsAddress('192.0.2.1', 22, 'git.example.com')).toBe(true);
  });

  it('is loopback, link-local or a metadata service only by a rule that names it', () => {
    const wide = policyOf(['0.0.0.0/0:*', '[::/0]:*', 'git.example.com:*'], cluster('demo'));
    for (const address of [
      '127.0.0.1',
      '127.8.8.8',
      '::1',
      '::ffff:127.0.0.1',
      '169.254.169.254',
      'fd00:ec2::254',
      '0.0.0.0',
    ]) {
      expect([address, wide.allowsAddress(address, 22), wide.allowsAddress(address, 22, 'git.example.com')]).toEqual([
        address,
        false,
        false,
      ]);
    }
    expect(policyOf(['127.0.0.1:3000'], cluster('demo')).allowsAddress('127.0.0.1', 3000)).toBe(true);
  });

  it('is no name by a rule for a block: what the control plane’s resolver knows is not for a cluster to ask', () => {
    const policy = policyOf(['10.0.0.0/8:22', '0.0.0.0/0:*', 'git.example.com:22'], cluster('demo'));
    expect(policy.allowsName('postgres.fairlead.svc', 22)).toBe(false);
    expect(policy.allowsName('secret-in-labels.evil.test', 443)).toBe(false);
    expect(policy.allowsName('git.example.com', 22)).toBe(true);
    expect(policy.allowsAddress('10.1.2.3', 22)).toBe(true);
  });

  it('follows a cluster that is labelled anew', () => {
    const policies = new EgressPolicies([parseEgressRule('region=eu@10.0.0.0/8:22')]);
    expect(policies.of(cluster('demo', { region: 'eu' })).allowsAddress('10.0.0.1', 22)).toBe(true);
    expect(policies.of(cluster('demo')).allowsAddress('10.0.0.1', 22)).toBe(false);
  });
});

it.each([
  '*:22',
  '*.*:22',
  '@git.example.com:22',
  'De mo@git.example.com:22',
  'a@b@git:22',
  'git.example.com',
  'demo@',
])('takes %s for no rule, and says so', (text) => {
  expect(() => parseEgressRule(text)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
});
