import { describe, expect, it } from 'vitest';
import { mayBeMadeAnew, saysImmutable, saysPolicy } from './immutable.js';

describe('what cannot be changed', () => {
  it.each([
    'Deployment.apps "a" is invalid: spec.selector: Invalid value: v1.LabelSelector{}: field is immutable',
    'ClusterRoleBinding.rbac.authorization.k8s.io "a" is invalid: roleRef: Invalid value: {}: cannot change roleRef',
    'Service "a" is invalid: spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set',
    'StatefulSet.apps "a" is invalid: spec: Forbidden: updates to statefulset spec for fields other than \'replicas\' are forbidden',
  ])('is told by the validation: %s', (message) => {
    expect([saysImmutable(message), saysPolicy(message)]).toEqual([true, false]);
  });

  it.each([
    `kustomizations.kustomize.toolkit.fluxcd.io "a" is forbidden: ValidatingAdmissionPolicy 'freeze' with binding 'freeze' denied request: no changes today`,
    `deployments.apps "a" is forbidden: ValidatingAdmissionPolicy 'freeze' with binding 'freeze' denied request: field is immutable`,
    'admission webhook "freeze.example.com" denied the request: field is immutable',
  ])('is never what a policy says: %s', (message) => {
    expect([saysImmutable(message), saysPolicy(message)]).toEqual([false, true]);
  });

  it('is not every other refusal', () => {
    expect(saysImmutable('Deployment.apps "a" is invalid: spec.replicas: Invalid value: -1: must be positive')).toBe(
      false,
    );
  });
});

describe('made anew', () => {
  it.each([
    ['apps/v1', 'Deployment'],
    ['batch/v1', 'Job'],
    ['v1', 'Service'],
    ['rbac.authorization.k8s.io/v1', 'ClusterRoleBinding'],
  ])('may be %s %s', (apiVersion, kind) => {
    expect(mayBeMadeAnew({ apiVersion, kind })).toBe(true);
  });

  it.each([
    ['kustomize.toolkit.fluxcd.io/v1', 'Kustomization'],
    ['source.toolkit.fluxcd.io/v1', 'GitRepository'],
    ['serving.knative.dev/v1', 'Service'],
    ['apiextensions.k8s.io/v1', 'CustomResourceDefinition'],
    ['v1', 'Namespace'],
    ['v1', 'Secret'],
    ['v1', 'ServiceAccount'],
    ['v1', 'PersistentVolumeClaim'],
  ])('is never %s %s', (apiVersion, kind) => {
    expect(mayBeMadeAnew({ apiVersion, kind })).toBe(false);
  });
});
