import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { renderImportManifest, renderInstallerManifest, type ImportManifestInput } from './import-manifest.js';

const image = 'registry.example.test/fairlead/installer:0.1.0';
const id = '0d0d7f0e-6d0e-4b5c-9a0c-3d9f6d1f0001';
const pins = ['ab'.repeat(32), 'cd'.repeat(32)];
const input: ImportManifestInput = {
  cluster: { name: 'demo', id },
  endpoints: ['gw-a.example.test:7444'],
  pins,
  trustDomain: 'fairlead.local',
  links: 1,
  targets: [],
  egress: [],
  image: 'registry.example.test/fairlead/agent:0.1.0',
  bootstrapToken: 'fl1.aa.id.secret-part',
  installer: { image },
};

// oxlint-disable-next-line typescript/no-explicit-any -- Kubernetes objects are walked as plain data here
type Doc = any;
const parse = (text: string): Doc[] => parseAllDocuments(text).map((document) => document.toJS());
const own = parse(renderInstallerManifest({ name: 'demo', clusterId: id, pins, trustDomain: 'fairlead.local', image }));
const find = (kind: string, name: string): Doc =>
  own.find((document) => document.kind === kind && document.metadata.name === name);
const deployment = find('Deployment', 'fairlead-installer');

describe('an import manifest with GitOps', () => {
  it('is the one without, and the installer before the agent', () => {
    const withIt = parse(renderImportManifest(input));
    const without = parse(renderImportManifest({ ...input, installer: null }));
    const names = (documents: Doc[]): string[] => documents.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
    expect(withIt).toEqual(expect.arrayContaining([...without, ...own]));
    expect(withIt).toHaveLength(without.length + own.length);
    expect(names(withIt).slice(-3)).toEqual([
      'Deployment/fairlead-installer',
      'NetworkPolicy/fairlead-agent',
      'Deployment/fairlead-agent',
    ]);
  });

  it('has none where nobody knows the cluster', () => {
    expect(renderImportManifest({ ...input, cluster: null, bootstrapToken: null })).not.toContain('installer');
  });
});

describe('the manifest of an installer', () => {
  it('has all it needs beside an agent that is there, and no secret', () => {
    expect(own.map(({ kind, metadata }) => `${kind}/${metadata.name}`)).toEqual([
      'ConfigMap/fairlead-desired-state',
      'ConfigMap/fairlead-bundle',
      'Role/fairlead-agent-handover',
      'RoleBinding/fairlead-agent-handover',
      'ServiceAccount/fairlead-installer',
      'ClusterRoleBinding/fairlead-installer',
      'NetworkPolicy/fairlead-installer',
      'Deployment/fairlead-installer',
    ]);
    expect(JSON.stringify(own)).not.toMatch(/fl1\.|"Secret"/);
  });

  it('leaves out the data of what the agent writes, so that applying it again keeps that', () => {
    for (const name of ['fairlead-desired-state', 'fairlead-bundle'])
      expect(Object.keys(find('ConfigMap', name))).toEqual(['apiVersion', 'kind', 'metadata']);
  });

  it('tells the installer whose it is and what to trust, and nothing else', () => {
    const [container] = deployment.spec.template.spec.containers;
    expect(Object.fromEntries(container.env.map(({ name, value }: Doc) => [name, value]))).toEqual({
      FAIRLEAD_CLUSTER_ID: id,
      FAIRLEAD_TRUST_DOMAIN: 'fairlead.local',
      FAIRLEAD_ROOT_PINS: pins.join(','),
      FAIRLEAD_NAMESPACE: 'fairlead-system',
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
    const { ingress, egress, policyTypes, podSelector } = find('NetworkPolicy', 'fairlead-installer').spec;
    expect([ingress, policyTypes]).toEqual([[], ['Ingress', 'Egress']]);
    expect(egress.flatMap(({ ports }: Doc) => ports.map(({ port }: Doc) => port))).toEqual([
      53, 53, 443, 6443, 8443, 16_443,
    ]);
    expect(podSelector.matchLabels).toEqual(deployment.spec.selector.matchLabels);
    expect(deployment.spec.template.metadata.labels).toMatchObject(podSelector.matchLabels);
  });

  it('is not selected by what selects the agent', () => {
    const agent = parse(renderImportManifest(input)).find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'fairlead-agent',
    );
    expect(deployment.spec.template.metadata.labels).not.toMatchObject(agent.spec.selector.matchLabels);
  });
});
