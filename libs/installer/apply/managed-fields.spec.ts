import type { KubeObject, ManagedFields } from '@fairlead/kube/rest';
import { describe, expect, it } from 'vitest';
import { isAppliedByUs, takenOver, withoutHonoured } from './managed-fields.js';

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

  it('stays where the manifest has nothing, for others to fill', () => {
    const password = entry('kubectl-patch', { 'f:data': { 'f:password': {} } });
    const typed = entry('kubectl-edit', { 'f:data': { 'f:other': {} }, 'f:immutable': {} });
    expect(takenOver([ours, password], { exceptData: true })).toBeNull();
    expect(takenOver([ours, password])).not.toBeNull();
    const taken = { ...ours, fieldsV1: { 'f:spec': { 'f:replicas': {} }, 'f:immutable': {} } };
    expect(takenOver([ours, typed], { exceptData: true })).toEqual([taken]);
  });

  it.each([
    'argocd-server',
    'kubelet',
    'kube-apiserver',
    'kube-controller-manager',
    'clusterrole-aggregation-controller',
  ])('is what anybody added to an object that is ours alone: %s', (name) => {
    const added = entry(name, { 'f:data': { 'f:insecure': {} } });
    const taken = { ...ours, fieldsV1: { 'f:spec': { 'f:replicas': {} }, 'f:data': { 'f:insecure': {} } } };
    expect(takenOver([ours, added], { oursAlone: true })).toEqual([taken]);
  });

  it('is not what Argo CD and Kubernetes are about in an object that is ours alone', () => {
    const syncing = entry('argocd-application-controller', { 'f:operation': { 'f:sync': {} }, 'f:status': {} });
    const metadata = { 'f:finalizers': {}, 'f:labels': { 'f:a': {} }, 'f:annotations': { 'f:b': {} } };
    const noted = entry('argocd-server', { 'f:metadata': metadata });
    const status = entry('kube-controller-manager', { 'f:other': {} }, { subresource: 'status' });
    expect(takenOver([ours, syncing, noted, status], { oursAlone: true })).toBeNull();
  });

  it('is what runs in a pod by whatever name of Kubernetes, and nothing else that it may set', () => {
    const template = { 'f:spec': { 'f:template': { 'f:spec': { 'f:hostNetwork': {} } } } };
    const { 'f:spec': spec } = template;
    for (const name of ['kubelet', 'kube-apiserver', 'kube-controller-manager']) {
      expect(takenOver([ours, entry(name, template)])).toEqual([
        { ...ours, fieldsV1: { 'f:spec': { 'f:replicas': {}, ...spec } } },
      ]);
    }
    const bound = entry('kube-controller-manager', { 'f:spec': { 'f:volumeName': {} } });
    expect(takenOver([ours, bound])).toBeNull();
  });

  it('cannot be told where the history does not name us', () => {
    expect([isAppliedByUs([ours]), isAppliedByUs([{ ...ours, operation: 'Update' }]), isAppliedByUs()]).toEqual([
      true,
      false,
      false,
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
