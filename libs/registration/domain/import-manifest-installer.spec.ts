import { describe, expect, it } from 'vitest';
import { MANIFEST_INPUT } from '../testing/manifest-input.js';
import { objectIn, objectsOf } from '../testing/manifest-objects.js';
import { renderImportManifest, renderInstallerManifest } from './import-manifest.js';

const input = MANIFEST_INPUT;
const { image } = input.installer;
const { id } = input.cluster;
const { pins } = input;

const own = renderInstallerManifest({
  name: 'demo',
  clusterId: id,
  pins,
  trustDomain: 'fairlead.local',
  image,
  values: {},
});
const deployment = objectIn(own, 'Deployment', 'fairlead-installer');

const namesIn = (manifest: string): string[] =>
  objectsOf(manifest).map(({ kind, metadata }) => `${kind}/${metadata.name}`);

describe('an import manifest with GitOps', () => {
  it('is the one without, and the installer before the agent', () => {
    const withIt = renderImportManifest(input);
    const parts = [...objectsOf(renderImportManifest({ ...input, installer: null })), ...objectsOf(own)];
    expect(objectsOf(withIt)).toEqual(expect.arrayContaining(parts));
    expect(objectsOf(withIt)).toHaveLength(parts.length);
    expect(namesIn(withIt).slice(-5)).toEqual([
      'Deployment/fairlead-installer',
      'Lease/fairlead-agent',
      'PodDisruptionBudget/fairlead-agent',
      'NetworkPolicy/fairlead-agent',
      'Deployment/fairlead-agent',
    ]);
  });

  it('pulls what has a registry, and nothing that was loaded into the nodes', () => {
    const policies = (of: string): unknown[] => {
      const manifest = renderImportManifest({ ...input, image: of, installer: { ...input.installer, image: of } });
      return objectsOf(manifest)
        .filter(({ kind }) => kind === 'Deployment')
        .map((each) => JSON.stringify(each).match(/"imagePullPolicy":"[^"]*"/)?.[0]);
    };
    expect(policies('localhost/fairlead/agent:0.1.0')).toEqual(Array(2).fill('"imagePullPolicy":"Never"'));
    expect(policies('localhost.example.test/fairlead/agent:0.1.0')).toEqual([undefined, undefined]);
  });

  it('has none where nobody knows the cluster', () => {
    expect(renderImportManifest({ ...input, cluster: null, bootstrapToken: null })).not.toContain('installer');
  });
});

describe('the manifest of an installer', () => {
  it('has all it needs beside an agent that is there, and no secret', () => {
    expect(namesIn(own)).toEqual([
      'ConfigMap/fairlead-desired-state',
      'ConfigMap/fairlead-bundle',
      'Role/fairlead-agent-handover',
      'RoleBinding/fairlead-agent-handover',
      'ServiceAccount/fairlead-installer',
      'ClusterRoleBinding/fairlead-installer',
      'NetworkPolicy/fairlead-installer',
      'Deployment/fairlead-installer',
    ]);
    expect(own).not.toMatch(/fl1\.|kind: Secret/);
  });

  it('leaves out the data of what the agent writes, so that applying it again keeps that', () => {
    for (const name of ['fairlead-desired-state', 'fairlead-bundle'])
      expect(Object.keys(objectIn(own, 'ConfigMap', name))).toEqual(['apiVersion', 'kind', 'metadata']);
  });

  it('tells the installer whose it is and what to trust, and nothing else', () => {
    const [container] = deployment.spec.template.spec.containers;
    expect(Object.fromEntries(container.env.map(({ name, value }) => [name, value]))).toEqual({
      FAIRLEAD_CLUSTER_ID: id,
      FAIRLEAD_TRUST_DOMAIN: 'fairlead.local',
      FAIRLEAD_ROOT_PINS: pins.join(','),
      FAIRLEAD_NAMESPACE: 'fairlead-system',
      FAIRLEAD_PREFLIGHT_PORTS: '443,6443,8443,16443',
      FAIRLEAD_HEALTH_LISTEN: '127.0.0.1:8080',
    });
    expect(container.image).toBe(image);
  });

  it('runs it without rights on its node, ports or volumes', () => {
    const { spec } = deployment.spec.template;
    const [container] = spec.containers;
    expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect([spec.volumes, spec.hostNetwork, container.ports, container.volumeMounts]).toEqual(Array(4).fill(undefined));
    expect(container.resources.limits).toEqual({ memory: '512Mi' });
  });

  it('lets nobody in, and it out to names and API servers only', () => {
    const { ingress, egress, policyTypes, podSelector } = objectIn(own, 'NetworkPolicy', 'fairlead-installer').spec;
    expect([ingress, policyTypes]).toEqual([[], ['Ingress', 'Egress']]);
    expect(egress.flatMap(({ ports }) => ports.map(({ port }) => port))).toEqual([
      53, 5353, 53, 5353, 443, 6443, 8443, 16_443,
    ]);
    expect(podSelector.matchLabels).toEqual(deployment.spec.selector.matchLabels);
    expect(deployment.spec.template.metadata.labels).toMatchObject(podSelector.matchLabels);
  });

  it('is not selected by what selects the agent', () => {
    const agent = objectIn(renderImportManifest(input), 'Deployment', 'fairlead-agent');
    expect(deployment.spec.template.metadata.labels).not.toMatchObject(agent.spec.selector.matchLabels);
  });
});
