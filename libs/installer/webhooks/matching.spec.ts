import { describe, expect, it } from 'vitest';
import { concerns, selects, type Webhook } from './matching.js';

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'a', namespace: 'flux-system', labels: { app: 'a' } },
};
const labels = { 'kubernetes.io/metadata.name': 'flux-system' };
const webhook: Webhook = {
  name: 'all',
  rules: [{ apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments'], operations: ['UPDATE'] }],
};

describe('a webhook', () => {
  it('concerns what its rules and selectors choose', () => {
    expect(concerns(webhook, deployment, labels)).toBe(true);
    expect(concerns(webhook, { ...deployment, kind: 'StatefulSet' }, labels)).toBe(false);
    expect(concerns({ ...webhook, objectSelector: { matchLabels: { app: 'b' } } }, deployment, labels)).toBe(false);
    const [rule] = webhook.rules ?? [];
    expect(concerns({ ...webhook, rules: [{ ...rule, operations: ['DELETE'] }] }, deployment, labels)).toBe(false);
    expect(concerns({ ...webhook, rules: [{ ...rule, scope: 'Cluster' }] }, deployment, labels)).toBe(false);
    const policy = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name: 'a' } };
    const rules = [{ apiGroups: ['*'], apiVersions: ['*'], resources: ['networkpolicies'], operations: ['*'] }];
    expect(concerns({ ...webhook, rules }, policy, labels)).toBe(true);
  });

  it('does not block where its silence is ignored, or our namespaces are exempted', () => {
    expect(concerns({ ...webhook, failurePolicy: 'Ignore' }, deployment, labels)).toBe(false);
    const matchExpressions = [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['flux-system'] }];
    expect(concerns({ ...webhook, namespaceSelector: { matchExpressions } }, deployment, labels)).toBe(false);
    expect(concerns({ ...webhook, namespaceSelector: { matchExpressions } }, deployment, null)).toBe(true);
  });
});

it.each([
  ['In', ['a', 'b'], [true, false, false]],
  ['NotIn', ['a', 'b'], [false, true, true]],
  ['Exists', [], [true, true, false]],
  ['DoesNotExist', [], [false, false, true]],
])('%s', (operator, values, expected) => {
  const selector = { matchExpressions: [{ key: 'k', operator, values }] };
  expect([{ k: 'a' }, { k: 'c' }, {} as Record<string, string>].map((labels) => selects(selector, labels))).toEqual(
    expected,
  );
});
