import type { KubeObject, ManagedFields } from '@fairlead/kube/rest';
import { describe, expect, it } from 'vitest';
import { takenOver, withoutHonoured } from './managed-fields.js';

const deployment: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'a', namespace: 'n', labels: { ours: 'yes' } },
  spec: {
    replicas: 1,
    template: {
      spec: {
        containers: [
          { name: 'm', image: 'x:1', args: ['--a'] },
          { name: 'n', image: 'y:1' },
        ],
      },
    },
  },
};
const image = {
  'f:spec': {
    'f:template': { 'f:spec': { 'f:containers': { 'k:{"name":"m"}': { '.': {}, 'f:name': {}, 'f:image': {} } } } },
  },
};
const entry = (
  manager: string,
  fieldsV1: ManagedFields['fieldsV1'],
  more: Partial<ManagedFields> = {},
): ManagedFields => ({
  manager,
  operation: 'Update',
  ...(fieldsV1 ? { fieldsV1 } : {}),
  ...more,
});
const ours = entry('fairlead-installer', { 'f:spec': { 'f:replicas': {} } }, { operation: 'Apply' });

describe('fields of other operators', () => {
  it('are left to them, and told', () => {
    const autoscaler = entry('kube-controller-manager', { 'f:spec': { 'f:replicas': {} } }, { subresource: 'scale' });
    const { object, fields } = withoutHonoured(deployment, [ours, autoscaler, entry('kustomize-controller', image)]);
    expect(fields).toEqual([
      'spec.replicas of kube-controller-manager',
      'spec.template.spec.containers[m].image of kustomize-controller',
    ]);
    expect(object['spec']).toEqual({
      template: {
        spec: {
          containers: [
            { name: 'm', args: ['--a'] },
            { name: 'n', image: 'y:1' },
          ],
        },
      },
    });
  });

  it('of somebody who did it by hand, of a status and of metadata are ours', () => {
    const labels = { 'f:metadata': { 'f:labels': { 'f:ours': {} } } };
    const { object, fields } = withoutHonoured(deployment, [
      entry('kubectl-edit', image),
      entry('someone', image),
      entry('helm', labels),
      entry('kube-controller-manager', { 'f:spec': { 'f:replicas': {} } }),
    ]);
    expect({ object, fields }).toEqual({ object: deployment, fields: [] });
  });
});

describe('what was set by hand', () => {
  it('becomes ours, so that an apply takes it away', () => {
    const paused = entry('kubectl-rollout', { 'f:spec': { 'f:paused': {} } });
    expect(takenOver([ours, paused])).toEqual([
      { ...ours, fieldsV1: { 'f:spec': { 'f:replicas': {}, 'f:paused': {} } } },
    ]);
  });

  it('is left where it does not matter', () => {
    const restart = {
      'f:spec': {
        'f:template': { 'f:metadata': { 'f:annotations': { '.': {}, 'f:kubectl.kubernetes.io/restartedAt': {} } } },
      },
    };
    expect(
      takenOver([
        ours,
        entry('kubectl-rollout', restart),
        entry('kubectl-annotate', { 'f:metadata': { 'f:annotations': { 'f:x': {} } } }),
        entry('source-controller', { 'f:status': {} }, { subresource: 'status' }),
        entry('helm', image),
        entry('kube-controller-manager', { 'f:secrets': {} }),
      ]),
    ).toBeNull();
  });
});
