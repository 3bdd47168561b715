import type { KubeObject } from '@fairlead/kube/rest';
import { expect, it } from 'vitest';
import { ANNOTATIONS, LABELS, OWNER, isOurs } from './names.js';

const labels = { [LABELS.managedBy]: OWNER, [LABELS.bundle]: 'flux' };
const object = (metadata: Partial<KubeObject['metadata']>): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'source-controller', ...metadata },
});

it('what bears the name of something of ours is not ours for that', () => {
  expect(isOurs(object({ labels }), 'flux')).toBe(true);
  expect(isOurs(object({}), 'flux')).toBe(false);
  expect(isOurs(object({ labels: { [LABELS.managedBy]: OWNER } }), 'flux')).toBe(false);
  expect(isOurs(object({ labels, annotations: { [ANNOTATIONS.reconcile]: 'disabled' } }), 'flux')).toBe(false);
});
