import { expect, it } from 'vitest';
import { aggregated } from './aggregate-roles.js';

const rule = (resource: string) => ({ apiGroups: [''], resources: [resource], verbs: ['get'] });
const made = (name: string, labels: Record<string, string>, from: string) => ({
  metadata: { name, labels },
  aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [from]: 'true' } }] },
  rules: null,
});
const part = (name: string, label: string) => ({
  metadata: { name, labels: { [label]: 'true' } },
  rules: [rule(name)],
});

it('fills each role that is made of others, also of such ones, and leaves the others alone', () => {
  const items = [
    made('admin', {}, 'to-admin'),
    made('edit', { 'to-admin': 'true' }, 'to-edit'),
    part('secrets', 'to-edit'),
    part('roles', 'to-admin'),
    { metadata: { name: 'other' }, rules: [rule('nodes')] },
  ];
  const rules = Object.fromEntries(aggregated({ items }).map((role) => [role.metadata.name, role.rules]));
  expect(rules).toEqual({ admin: [rule('secrets'), rule('roles')], edit: [rule('secrets')] });
});
